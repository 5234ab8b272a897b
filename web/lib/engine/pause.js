/** Lets other work of this thread go first. (In a browser's worker host.js has a faster way.)
 * @returns {Promise<void>} */
export function pauseThread() {
  return new Promise((go) => {
    if (typeof setImmediate === 'function') setImmediate(go);
    else setTimeout(go);
  });
}
