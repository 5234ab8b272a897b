/** The sandbox as one template: presets, switches, and the chain of matrices from X to the output. */
import { html, nothing } from 'lit';
import { PRESET_NAMES } from './presets.js';
import { settings } from './sandbox-settings.js';
import { answerSheet, inputSheet } from './sandbox-sheets.js';
import { headSlice, scaleOf } from './attention.js';
import { labelsOf, keyLabelsOf } from './setup.js';
import { widthsPane } from './widths-pane.js';

/** @typedef {import('../app.js').App} App */
/** @typedef {import('./attention.js').Answer} Answer */
/** @typedef {import('./setup.js').Setup} Setup */
/** @typedef {import('../words/translate.js').WordKey} WordKey */

/** @type {Record<import('./presets.js').PresetName, { word: WordKey, note: WordKey }>} */
const WORDS = {
  lookup: { word: 'presetLookup', note: 'lookupNote' },
  width: { word: 'presetWidth', note: 'widthNote' },
  mask: { word: 'presetMask', note: 'maskNote' },
  heads: { word: 'presetHeads', note: 'headsNote' },
  cross: { word: 'presetCross', note: 'crossNote' },
  equal: { word: 'presetEqual', note: 'equalNote' },
};

/** @param {App} app */
export function sandboxPage(app) {
  const { t, sandbox } = app;
  const { setup, answer } = sandbox;
  return html`<div class="sandbox">
    <div class="sandbox-head"><h2>${t('sandboxTitle')}</h2><p class="dim">${t('sandboxLead')}</p></div>
    <div class="try"><span>${t('tryThese')}</span>${PRESET_NAMES.map(
      (name) => html`<button type="button" class="link" aria-pressed=${name === setup.preset}
        @click=${() => sandbox.choose(name)}>${t(WORDS[name].word)}</button>`,
    )}</div>
    <p class="note">${t(WORDS[setup.preset].note)}</p>
    ${settings(app)}
    <div class="notes" aria-live="polite">${problem(app)}</div>
    ${answer ? parts(app, setup, answer) : waiting(app)}
  </div>`;
}

/** @param {App} app */
function waiting({ t, sandbox }) {
  if (!sandbox.error) return html`<p class="note" role="status">${t('sandboxStarting')}</p>`;
  return html`<div class="note bad" role="alert"><b>${t('sandboxFailed')}.</b> ${sandbox.error}
    <button type="button" class="pill" @click=${() => sandbox.retry()}>${t('retry')}</button></div>`;
}

/** What was wrong with the last number or block. @param {App} app */
function problem({ t, sandbox: { problem: wrong } }) {
  if (!wrong) return nothing;
  const name = wrong.sheet === 'mask' ? t('maskSheetLabel') : NAMES[wrong.sheet];
  return html`<p class="note bad" id="sandbox-problem">${t(wrong.problem, { ...wrong.facts, name })}</p>`;
}

/** Wider matrices stand beside their map, not under it. */
const SIDE_BY_SIDE = 24;
/** The widths of which two matrices with their numbers fill a line. */
const TWO_IN_A_LINE = Object.freeze({ least: 13, most: 16 });

const NAMES = { x: 'X', y: 'Y', wq: 'W_Q', wk: 'W_K', wv: 'W_V', wo: 'W_O' };

/** @param {App} app  @param {Setup} setup  @param {Answer} answer */
function parts(app, setup, answer) {
  return html`<div class="parts" id="numbers">
    ${setup.preset === 'width' ? widthsPane(app) : nothing}
    ${projectPart(app, setup, answer)}${setup.heads > 1 ? splitPart(app, setup, answer) : nothing}
    ${comparePart(app, setup, answer)}${mixPart(app, setup, answer)}
  </div>`;
}

/** @param {App} app  @param {'project' | 'split' | 'compare' | 'mix'} name  @param {WordKey} title  @param {unknown} note  @param {unknown} body  @param {string} [shape] */
function part({ t, sandbox }, name, title, note, body, shape = '') {
  const names = sandbox.setup.heads > 1 ? ['project', 'split', 'compare', 'mix'] : ['project', 'compare', 'mix'];
  return html`<section class="pane part" aria-labelledby="part-${name}">
    <div class="pane-head"><h2 id="part-${name}"><span class="part-number">${names.indexOf(name) + 1}</span>${t(title)}</h2><span class="dim">${shape}</span></div>
    <p class="s">${note}</p>
    ${body}
  </section>`;
}

/** A matrix and what leads to it. @param {string} sign  @param {string} below  @param {unknown} sheet */
const after = (sign, below, sheet) =>
  html`<div class="pair"><span class="sign">${sign}${below ? html`<small>${below}</small>` : nothing}</span>${sheet}</div>`;

/** The columns of the chosen head. @param {Setup} setup  @param {Answer} answer  @returns {[number, number] | null} */
const markOf = ({ heads, head }, { dk }) => (heads > 1 ? [head * dk, (head + 1) * dk] : null);

/** @param {App} app  @param {Setup} setup  @param {Answer} answer */
function projectPart(app, setup, answer) {
  const { t } = app;
  const { n, width, heads, cross } = setup;
  const source = cross ? 'Y' : 'X';
  const isPaired = width >= TWO_IN_A_LINE.least && width <= TWO_IN_A_LINE.most;
  const wide = { group: answer.dk, mark: markOf(setup, answer) };
  const looking = labelsOf(setup, 'x');
  const looked = keyLabelsOf(setup);
  const column = (
    /** @type {'wq' | 'wk' | 'wv'} */ map,
    /** @type {'q' | 'k' | 'v'} */ stage,
    /** @type {string} */ from,
    /** @type {string[]} */ rows,
  ) => html`<div class="column">
      ${inputSheet(app, map, wide)}
      ${answerSheet(app, { symbol: [stage.toUpperCase()], of: html`= ${from} W<sub>${stage.toUpperCase()}</sub>`, values: answer[stage], rows, ...wide })}
    </div>`;
  return part(
    app,
    'project',
    'partProject',
    t('partProjectNote'),
    html`<div class="flow project" ?data-wide=${width > SIDE_BY_SIDE} ?data-paired=${isPaired}>
      <div class="column">${inputSheet(app, 'x')}${cross ? inputSheet(app, 'y') : nothing}</div>
      ${column('wq', 'q', 'X', looking)}${column('wk', 'k', source, looked)}${column('wv', 'v', source, looked)}
    </div>
    ${heads === 1 ? html`<p class="aside">${t('partSplitOne', { shape: `(${n}, ${width}) → (${n}, 1, ${width})` })}</p>` : nothing}`,
    cross ? `X (${n}, ${width}) · Y (${setup.m}, ${width})` : `X (${n}, ${width})`,
  );
}

/** @param {App} app  @param {Setup} setup  @param {Answer} answer */
function splitPart(app, setup, answer) {
  const { t, sandbox, theme } = app;
  const { n, width, heads, head } = setup;
  const { dk, keys } = answer;
  const shape = `(${n}, ${width}) → (${n}, ${heads}, ${dk})`;
  const looking = labelsOf(setup, 'x');
  const looked = keyLabelsOf(setup);
  const slice = (/** @type {'q' | 'k' | 'v'} */ stage) =>
    answerSheet(app, {
      symbol: [stage.toUpperCase(), '', String(head)],
      values: headSlice(answer[stage], width, dk, head),
      rows: stage === 'q' ? looking : looked,
      first: head * dk,
    });
  return part(
    app,
    'split',
    'partSplit',
    t('partSplitNote'),
    html`<qkv-strip class="view" .weights=${answer.weights} .shape=${{ heads, rows: n, cols: keys }} .head=${head} .theme=${theme} .t=${t}
        @pick-head=${(/** @type {CustomEvent<number>} */ event) => sandbox.change({ head: event.detail })}></qkv-strip>
      <div class="flow">${slice('q')}${slice('k')}${slice('v')}</div>`,
    shape,
  );
}

/** @param {App} app  @param {Setup} setup  @param {Answer} answer */
function comparePart(app, setup, answer) {
  const { t } = app;
  const { n, heads, head, scaled, temperature } = setup;
  const { dk, keys } = answer;
  const above = heads > 1 ? String(head) : '';
  const map = (/** @type {Float32Array} */ values) => values.subarray(head * n * keys, (head + 1) * n * keys);
  const rows = labelsOf(setup, 'x');
  const cols = keyLabelsOf(setup);
  const sheet = (
    /** @type {Partial<import('./sandbox-sheets.js').Shown> & { values: Float32Array, symbol: string[] }} */ shown,
  ) => answerSheet(app, { rows, cols, ...shown, values: map(shown.values) });
  const product = heads > 1 ? `Q${raised(head)}K${raised(head)}ᵀ` : 'QKᵀ';
  const hot = temperature === 1 ? '' : ` · ${temperature}`;
  const divisor = scaled ? `√${dk}${hot}` : `1${hot}`;
  const sums = answer.sums.subarray(head * n, (head + 1) * n);
  return part(
    app,
    'compare',
    'partCompare',
    t('partCompareNote'),
    html`<div class="flow">
      ${sheet({ symbol: [product], of: t('stepScores'), values: answer.scores })}
      ${after('÷', divisor, sheet({ symbol: ['S', '', above], of: t(scaled || hot ? 'stepDivided' : 'stepDividedOff'), values: answer.scaled }))}
      ${after('+', '', inputSheet(app, 'mask'))}
      ${after('=', '', sheet({ symbol: ['S′', '', above], of: t('stepMasked'), values: answer.masked }))}
      ${after('→', 'softmax', sheet({ symbol: ['A', '', above], of: t('stepWeights'), values: answer.weights, kind: 'weight', sums }))}
    </div>
    ${sums.some((sum) => sum === 0) ? html`<p class="aside">${t('emptyRow')}</p>` : nothing}`,
    `(${n}, ${dk}) · (${dk}, ${keys}) × ${scaleOf(setup).toPrecision(4)} → (${n}, ${keys})`,
  );
}

/** @param {App} app  @param {Setup} setup  @param {Answer} answer */
function mixPart(app, setup, answer) {
  const { t } = app;
  const { n, width, heads, head } = setup;
  const { dk } = answer;
  const above = heads > 1 ? String(head) : '';
  const rows = labelsOf(setup, 'x');
  const wide = { group: dk, mark: markOf(setup, answer) };
  const joins = heads > 1;
  const z = headSlice(answer.concat, width, dk, head);
  return part(
    app,
    'mix',
    'partMix',
    t('partMixNote'),
    html`<div class="flow">
      ${answerSheet(app, { symbol: ['Z', '', above], of: '= A V', values: z, rows, first: head * dk })}
      ${joins ? after('→', 'concat', answerSheet(app, { symbol: ['Z'], of: `[ Z⁰ … Z${raised(heads - 1)} ]`, values: answer.concat, rows, ...wide })) : nothing}
      ${after('·', '', inputSheet(app, 'wo'))}
      ${after('=', '', answerSheet(app, { symbol: ['output'], values: answer.output, rows }))}
    </div>`,
    `${joins ? `${heads} × (${n}, ${dk}) → ` : ''}(${n}, ${width}) · (${width}, ${width}) → (${n}, ${width})`,
  );
}

/** @param {number} digit 0 to 7 */
const raised = (digit) => '⁰¹²³⁴⁵⁶⁷'[digit];
