/** The worker's entry: nothing but the start of host.js. */

import { serve } from './worker/host.js';

serve();
