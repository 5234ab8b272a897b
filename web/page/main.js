/** Starts the page with the model that lies beside it. */
import { App } from './app.js';
import { defineViews } from './views/define.js';

const MODEL = { folder: './models/minilm/', name: 'all-MiniLM-L6-v2' };

defineViews();
const bundled = { source: new URL(MODEL.folder, document.baseURI).href, name: MODEL.name, linkName: '' };
const app = new App(/** @type {HTMLElement} */ (document.getElementById('app')), bundled);
app.render();
void app.load(bundled);
