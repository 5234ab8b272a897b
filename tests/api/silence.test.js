/** Loading a model from servers that accept and then say nothing, or not enough. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { init, inspectModel, loadModel } from 'qkv';
import { llamaFile } from '../lib/formats/gguf_file.js';
import { LIMIT, LONG, serveSilently } from '../lib/sources/silent_server.js';
import { inTree, qkvError } from './golden.js';
import { tinyFiles } from './tiny_model.js';

const files = tinyFiles();
const gguf = llamaFile();
let base = '';
let close = () => {};
before(async () => {
  ({ base, close } = await serveSilently((file) => (file.endsWith('.gguf') ? gguf : files[file])));
});
after(() => close());

test('a model whose server falls silent is given up, in this thread and in a worker', async () => {
  for (const worker of [false, true]) {
    const options = { timeout: LONG, worker };
    await assert.rejects(loadModel(`${base}/nothing/config`, options), qkvError('timeout', 'config.json', '2 s'));
    await assert.rejects(loadModel(`${base}/half_a_body/model`, options), qkvError('timeout', 'model.safetensors'));
    await assert.rejects(loadModel(`${base}/half_a_body/m/m.gguf`, options), qkvError('timeout', 'm.gguf'));
  }
});

test('inspectModel gives up a silent server', async () => {
  await assert.rejects(inspectModel(`${base}/half_a_body/config`, { timeout: LIMIT }), qkvError('timeout', 'config'));
  await assert.rejects(inspectModel(`${base}/nothing/m/m.gguf`, { timeout: LIMIT }), qkvError('timeout', 'm.gguf'));
});

test('a server that sends a piece now and then is alive, however long all takes', async () => {
  for (const worker of [false, true]) {
    const model = await loadModel(`${base}/alive/model`, { timeout: LONG, worker });
    assert.equal(model.info.family, 'bert');
    model.dispose();
  }
});

for (const way of ['nothing', 'half_a_body', 'all_but_the_end', 'gzip_without_end']) {
  test(`an abort is heard while a server that sends ${way} is waited for`, async () => {
    for (const worker of [false, true]) {
      const controller = new AbortController();
      const loading = loadModel(`${base}/${way}/model`, { worker, signal: controller.signal });
      setTimeout(() => controller.abort(), LIMIT);
      await assert.rejects(loading, qkvError('aborted'));
    }
  });
}

test('an abort at the last byte of the weights is heard', async () => {
  const controller = new AbortController();
  /** @type {import('qkv').LoadModelOptions} */
  const options = {
    signal: controller.signal,
    onProgress: ({ loaded, total }) => loaded === total && controller.abort(),
  };
  await assert.rejects(loadModel(`${base}/nothing/none`, options), qkvError('aborted'));
});

test('the next load from the server that was silent works', async () => {
  await assert.rejects(loadModel(`${base}/nothing/config`, { timeout: LIMIT }), qkvError('timeout'));
  const model = await loadModel(`${base}/nothing/none`);
  model.dispose();
});

test('nothing of a load that ended keeps a program alive', async () => {
  const script = `
    import { loadModel } from 'qkv';
    await loadModel('${base}/nothing/none').then((model) => model.dispose());
    await loadModel('${base}/nothing/model', { timeout: 50 }).catch(({ code }) => console.log(code));
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 50);
    await loadModel('${base}/half_a_body/model', { signal: controller.signal }).catch(({ code }) => console.log(code));
    console.log(process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length);
  `;
  const options = { cwd: inTree('.'), timeout: 30_000 };
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], options);
  assert.deepEqual(stdout.trim().split('\n'), ['timeout', 'aborted', '0']);
});

for (const [timeout, code] of /** @type {[unknown, string][]} */ ([
  [0, 'range'],
  [-1, 'range'],
  [Number.NaN, 'argument'],
  ['60', 'argument'],
  [null, 'argument'],
])) {
  test(`timeout: ${JSON.stringify(timeout) ?? timeout} is refused`, async () => {
    const options = /** @type {{ timeout: number }} */ ({ timeout });
    const want = 'milliseconds, more than 0; Infinity: no limit';
    await assert.rejects(loadModel(files, options), qkvError(code, 'loadModel: timeout', want));
    await assert.rejects(loadModel(files, { ...options, worker: true }), qkvError(code, 'loadModel: timeout'));
    await assert.rejects(inspectModel(files, options), qkvError(code, 'inspectModel: timeout'));
    await assert.rejects(init(options), qkvError(code, 'init: timeout'));
  });
}
