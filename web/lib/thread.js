/** The entry of a thread of the engine: nothing but the start of join_pool.js. */

import { joinPool } from './engine/join_pool.js';

joinPool();
