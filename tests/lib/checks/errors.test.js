import assert from 'node:assert/strict';
import test from 'node:test';
import { ERROR_CODES, QkvError, throwIfAborted } from '../../../web/lib/checks/errors.js';

test('a message says what is wrong, what was got, what was wanted and what to do', () => {
  const error = new QkvError('config', 'config.json: hidden_size', {
    got: 384,
    want: 'a multiple of 7',
    fix: 'Fix it.',
  });
  assert.equal(error.message, 'config.json: hidden_size: got 384, want a multiple of 7. Fix it.');
  assert.equal(new QkvError('state', 'Not loaded').message, 'Not loaded');
  assert.equal(new QkvError('aborted', 'Cancelled', { fix: 'Ask again.' }).message, 'Cancelled. Ask again.');
});

test('nothing that cannot be seen stands raw in a message or in what it is about', () => {
  const hidden = ['\u202e', '\u200f', '\u061c', '\u200b', '\u2066', '\ufeff', '\u0007', '\u{e0041}', '\ud800'];
  for (const char of hidden) {
    const { message, what } = new QkvError('format', `a${char}gpj.gguf`, {
      got: `b${char}c`,
      want: `d${char}e`,
      fix: char,
    });
    assert.ok(!`${message}${what}`.includes(char), JSON.stringify(message));
    assert.ok(message.startsWith(`${what}: got `) && what.endsWith('gpj.gguf'));
  }
  const { message } = new QkvError('format', 'مدل\u200cها 漢 é 👩\u200d🔬.gguf');
  assert.equal(message, 'مدل\u200cها 漢 é 👩\u200d🔬.gguf');
});

test('no value makes an error that cannot be made, or a message of a megabyte', () => {
  /** @type {{ self?: object }} */
  const cycle = {};
  cycle.self = cycle;
  for (const got of [Number.NaN, -Infinity, 2n ** 70n, cycle, () => 1, Symbol('x'), null, 'x'.repeat(1e6), [[[]]]]) {
    const { message } = new QkvError('argument', 'it', { got, want: 'another' });
    assert.ok(message.length < 200, message.slice(0, 300));
    assert.match(message, /^it: got .+, want another$/);
  }
  assert.match(new QkvError('argument', 'it', { got: Number.NaN }).message, /NaN/);
  const { message, what } = new QkvError('format', `tensor "${'x'.repeat(1e6)}"`, { got: 1, want: 2 });
  assert.ok(message.length < 600 && what.length < 600);
  assert.match(message, /x…x+": got 1, want 2$/);
});

test('nothing out of a file steers a terminal, breaks the line or turns the text around', () => {
  const { message } = new QkvError('format', 'key \u009b31m\n', { got: '\u007f\u202eabc\u2028', want: 'a\ud800b 漢é' });
  const shown = '"\\u007f\\u202eabc\\u2028"';
  assert.equal(message, `key \\u009b31m\\u000a: got ${shown}, want a\\ud800b 漢é`);
});

test('what is no plain data is named by its kind', () => {
  const shown = [Promise.resolve(1), () => 1, 101n, new Map(), new Uint8Array(3), new ArrayBuffer(1), new Error('x')];
  assert.deepEqual(
    shown.map((got) => new QkvError('argument', 'it', { got }).message),
    [
      'it: got a Promise',
      'it: got a function',
      'it: got 101n',
      'it: got a Map',
      'it: got a Uint8Array',
      'it: got an ArrayBuffer',
      'it: got an Error',
    ],
  );
  const plain = [{}, { a: 1 }, Object.create(null), [1], null, new URL('https://a.b/')];
  assert.deepEqual(
    plain.map((got) => new QkvError('argument', 'it', { got }).message.slice(8)),
    ['{}', '{"a":1}', '{}', '[1]', 'null', '"https://a.b/"'],
  );
});

test('of what is as long as no path may be, the beginning and the end are in the message', () => {
  const { message, what } = new QkvError('missing', `${'a'.repeat(100_000)}/config.json is not there`, {
    got: 'ENOENT',
  });
  assert.match(message, /^a{200}…a+\/config\.json is not there: got "ENOENT"$/);
  assert.ok(message.length < 450 && what.length < 450);
  const path = `${'/folder'.repeat(50)}/config.json is not there`;
  assert.equal(new QkvError('missing', path).message, path);
});

test('an error crosses a worker with its code, got and want, whatever they are', () => {
  const error = new QkvError('range', 'layer', { got: 99, want: 5, fix: 'Choose another.' });
  const there = QkvError.fromJSON(structuredClone(error.toJSON()));
  assert.ok(there instanceof QkvError);
  const { code, what, got, want, message, name } = there;
  assert.deepEqual({ code, what, got, want, message, name }, { ...error.toJSON() });

  const strange = new QkvError('argument', 'it', { got: () => 1, want: [1, { a: 2n }] });
  assert.doesNotThrow(() => structuredClone(strange.toJSON()));
  assert.equal(QkvError.fromJSON(strange.toJSON()).message, strange.message);
});

test('every code has a meaning, in lower case words', () => {
  for (const [code, meaning] of Object.entries(ERROR_CODES)) {
    assert.match(code, /^[a-z]+$/);
    assert.ok(meaning.length > 10);
  }
});

test('an aborted signal becomes the error aborted, with the reason as its cause', () => {
  const reason = new Error('enough');
  assert.doesNotThrow(() => throwIfAborted(null));
  assert.doesNotThrow(() => throwIfAborted(new AbortController().signal));
  assert.throws(() => throwIfAborted(AbortSignal.abort(reason)), { name: 'QkvError', code: 'aborted', cause: reason });
});
