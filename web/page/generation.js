/**
 * A text that the model goes on from: tokens come in one by one, and when the last one is there, or the reader has had
 * enough, the picture shows the whole.
 */

/** @typedef {import('qkv').NewToken} NewToken */
/** @typedef {import('./hash.js').PageState} PageState */
/** @typedef {import('./picture.js').Picture} Picture */
/** @typedef {import('./session.js').Session} Session */
/** @typedef {'idle' | 'running' | 'done' | 'stopped'} Phase */

/** @param {PageState} state @returns {import('qkv').GenerateOptions} */
const optionsOf = ({ tokens, temp, topk, topp, seed }) => ({
  maxNewTokens: tokens,
  temperature: temp,
  ...(topk > 0 ? { topK: topk } : {}),
  topP: topp,
  seed,
});

export class Generation {
  /** @type {Phase} */
  phase = 'idle';
  /** What has come so far. */
  text = '';
  /** @type {NewToken[]} */
  tokens = [];
  /** Why the model itself came to an end. @type {'eos' | 'stop' | 'length' | 'context' | null} */
  ended = null;
  #ticket = 0;

  /**
   * @param {Session} session
   * @param {() => void} onChange
   */
  constructor(session, onChange) {
    this.session = session;
    this.onChange = onChange;
  }

  get isStopped() {
    return this.phase === 'stopped';
  }

  /** Forgets what was generated; nothing that still comes in counts. */
  clear() {
    this.#ticket++;
    Object.assign(this, { phase: 'idle', text: '', tokens: [], ended: null });
  }

  /**
   * @param {string} text
   * @param {PageState} state
   * @returns {Promise<Picture | null>} of the text and what was added; null where there is nothing new to show
   */
  async run(text, state) {
    this.clear();
    const ticket = this.#ticket;
    this.phase = 'running';
    const onToken = (/** @type {NewToken} */ token) => {
      if (ticket !== this.#ticket || this.phase !== 'running') return;
      this.tokens = [...this.tokens, token];
      this.text += token.text;
      this.onChange();
    };
    const picture = await this.session.generate(text, { ...optionsOf(state), onToken });
    if (ticket !== this.#ticket) {
      picture?.run.dispose();
      return null;
    }
    if (picture) {
      this.ended = picture.run.stopped;
      this.phase = 'done';
      return picture;
    }
    const wasStopped = this.isStopped && this.tokens.length > 0;
    if (!wasStopped) this.clear();
    this.onChange();
    return wasStopped ? this.session.take(text, this.tokens) : null;
  }

  stop() {
    if (this.phase !== 'running') return;
    this.phase = 'stopped';
    this.session.stop();
  }
}
