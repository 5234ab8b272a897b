/** How a fault is pinned to the code: by its words and signs, whatever the line breaks, indents and kinds of quotes are. */

/** A token with its place; blanks are none, and neither is a comma that only a formatter wants. */
const TOKEN = /[\w$]+|[^\s\w$]/g;

/** @param {string} source */
function tokensOf(source) {
  const all = [...source.matchAll(TOKEN)].map(({ 0: text, index }) => ({
    text: text === "'" ? '"' : text,
    start: index,
    end: index + text.length,
  }));
  return all.filter(({ text }, i) => text !== ',' || !/^[)\]}]$/.test(all[i + 1]?.text ?? ''));
}

/**
 * Where the code stands in a source: pairs of start and end.
 * @param {string} source
 * @param {string} code
 */
export function placesOf(source, code) {
  const all = tokensOf(source);
  const wanted = tokensOf(code).map(({ text }) => text);
  const places = [];
  for (let i = 0; i + wanted.length <= all.length; i++) {
    if (wanted.every((text, k) => all[i + k].text === text))
      places.push({ start: all[i].start, end: all[i + wanted.length - 1].end });
  }
  return places;
}

/**
 * The source with the fault in it; the code has to stand there once.
 * @param {string} source
 * @param {{ file: string, line: string, becomes: string }} mutant
 */
export function withFault(source, { file, line, becomes }) {
  const places = placesOf(source, line);
  if (places.length !== 1) throw new Error(`the code stands ${places.length} times in ${file}, wanted once: ${line}`);
  const [{ start, end }] = places;
  return source.slice(0, start) + becomes + source.slice(end);
}
