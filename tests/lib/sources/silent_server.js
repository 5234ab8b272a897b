/** A server that falls silent in one of several ways. GET /WAY/SILENT/FILE: all files are sent well but those whose name begins
 * like SILENT. */
import { createServer } from 'node:net';

/** @typedef {import('node:net').Socket} Socket */

/** Milliseconds: what the servers of this file may be silent. */
export const LIMIT = 400;
/** More than any pause of a server that sends on, less than it takes for all. */
export const LONG = 2000;

/** @param {number} length @param {string} [more] */
const head = (length, more = '') => `HTTP/1.1 200 OK\r\ncontent-length: ${length}\r\n${more}\r\n`;

/** How a server falls silent; the first folder of the path names one. @type {Record<string, (socket: Socket, body: Uint8Array) => void>} */
export const WAYS = {
  nothing: () => {},
  half_a_line: (socket) => socket.write('HTTP/1.1 20'),
  informational: (socket) => repeat(socket, () => socket.write('HTTP/1.1 102 Processing\r\n\r\n')),
  headers_only: (socket, body) => socket.write(head(body.length)),
  half_a_body: (socket, body) => {
    socket.write(head(body.length));
    socket.write(body.subarray(0, body.length / 2));
  },
  all_but_the_end: (socket, body) => {
    socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
    socket.write(`${body.length.toString(16)}\r\n`);
    socket.write(body);
  },
  gzip_without_end: (socket) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n');
    socket.write('a\r\n');
    socket.write(Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]));
    socket.write('\r\n');
  },
};

/** A third of the limit apart. @param {Socket} socket @param {() => unknown} action */
function repeat(socket, action) {
  const timer = setInterval(action, LIMIT / 3);
  socket.once('close', () => clearInterval(timer));
  action();
}

/** In 24 pieces, of which each comes well within the limit and all together do not. @param {Socket} socket @param {Uint8Array} body */
function sendSlowly(socket, body) {
  const step = Math.ceil(body.length / 24);
  let at = 0;
  socket.write(head(body.length));
  repeat(socket, () => {
    if (at < body.length) socket.write(body.subarray(at, at + step));
    at += step;
  });
}

/**
 * @param {(file: string) => Uint8Array | undefined} bytesOf
 * @returns {Promise<{ base: string, close: () => void }>}
 */
export async function serveSilently(bytesOf) {
  /** @type {Set<Socket>} */
  const sockets = new Set();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
    socket.on('data', (data) => {
      const [, way, silent, file = ''] = /^GET \/(\w+)\/(\w+)\/(\S+)/.exec(String(data)) ?? [];
      const body = bytesOf(file);
      if (body === undefined) return socket.write('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n');
      if (file.startsWith(silent)) return way === 'alive' ? sendSlowly(socket, body) : WAYS[way](socket, body);
      socket.write(head(body.length));
      return socket.write(body);
    });
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', () => done(null)));
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  function close() {
    server.close();
    for (const socket of sockets) socket.destroy();
  }
  return { base: `http://127.0.0.1:${port}`, close };
}
