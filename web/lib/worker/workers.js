/** The worker that a model is in, and its replacement after a crash: at the next call the model is loaded again from its source.
 * Runs are lost with their worker, and nothing is replayed. */

import { createCall, createEnding } from '../checks/calls.js';
import { QkvError } from '../checks/errors.js';
import { connect } from './client.js';

/** @typedef {import('../api/model.js').ModelInfo} ModelInfo */
/** @typedef {import('../api/model.js').OnProgress} OnProgress */
/** @typedef {import('../checks/calls.js').Call} Call */
/** @typedef {import('../checks/calls.js').Ending} Ending */
/** @typedef {import('./client.js').Connection} Connection */
/** @typedef {import('./protocol.js').LoadRequest} LoadRequest */
/** @typedef {ReturnType<typeof createWorkers>} Workers */
/** @typedef {{ connection: Connection, loaded: Promise<ModelInfo> }} Current */

/** A model that brings its worker down this often in a row is given up. */
const MOST_CRASHES = 2;

/**
 * @param {LoadRequest} load
 * @param {OnProgress | undefined} onProgress
 * @param {Ending | null} engine ends the model with it
 * @param {typeof connect} [start] for tests
 */
export function createWorkers(load, onProgress, engine, start = connect) {
  /** @type {Current | null} */
  let current = null;
  let crashes = 0;
  const ending = createEnding();
  const stop = engine?.listen((error) => end(/** @type {QkvError} */ (error)));

  /** @param {QkvError} error */
  function onCrash(error) {
    current = null;
    crashes++;
    if (crashes < MOST_CRASHES) return;
    const fix = 'The model is given up; load another one or reload the page.';
    const what = `The worker stopped ${crashes} times in a row (${error.what})`;
    end(new QkvError('crash', what, { cause: error, fix }));
  }

  /** @param {QkvError} error */
  function end(error) {
    if (!ending.end(error)) return;
    stop?.();
    current?.connection.end(error);
    current = null;
  }

  /** @param {Call} call what can end the load */
  function open(call) {
    const connection = start({ onCrash });
    const loaded = /** @type {Promise<ModelInfo>} */ (connection.request('load', [load], { call, onProgress }));
    const opened = { connection, loaded };
    // A worker that could not load its model is ended; after a crash it has ended already.
    loaded.catch((error) => {
      if (current === opened) current = null;
      connection.end(error);
    });
    return opened;
  }

  /** Loading again belongs to no call in particular: whoever asked first may give up, and others still wait. */
  function openAgain() {
    const call = createCall([ending], undefined);
    try {
      const opened = open(call);
      // Whoever waits for it is told of a failure.
      opened.loaded.then(call.close, call.close);
      return opened;
    } catch (error) {
      call.close();
      throw error;
    }
  }

  return {
    ending,

    /** @param {Call} call */
    first(call) {
      current = open(call);
      return call.wait(current.loaded);
    },

    /**
     * The worker, with the model in it.
     * @param {Call} call
     * @returns {Promise<Connection>}
     */
    async get(call) {
      ending.check();
      current ??= openAgain();
      const { connection, loaded } = current;
      await call.wait(loaded);
      return connection;
    },

    /** A call of the model, answered: the worker is well. */
    succeeded() {
      crashes = 0;
    },

    /** The model is disposed of. */
    dispose: () => end(new QkvError('disposed', 'This model was disposed', { fix: 'Load it again with loadModel.' })),
  };
}
