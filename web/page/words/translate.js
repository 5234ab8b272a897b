/** Which language the page speaks, and its sentences with their placeholders filled. */
import { en } from './en.js';
import { zhHans } from './zh-Hans.js';

/** @typedef {keyof typeof en} WordKey */
/** @typedef {(key: WordKey, values?: Record<string, string | number>) => string} Translate */
/** @typedef {'en' | 'zh'} Language */

/** @type {Record<Language, { words: Record<WordKey, string>, tag: string }>} */
const LANGUAGES = { en: { words: en, tag: 'en' }, zh: { words: zhHans, tag: 'zh-Hans' } };

/**
 * One function a language, so that views see a new one when the language changes.
 * @param {Language} language
 * @returns {Translate}
 */
function translator(language) {
  const { words } = LANGUAGES[language];
  return (key, values = {}) => words[key].replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));
}

const TRANSLATORS = { en: translator('en'), zh: translator('zh') };

/** @param {Language} language */
export const translateTo = (language) => TRANSLATORS[language];

/** @param {Language} language the value of <html lang> */
export const languageTag = (language) => LANGUAGES[language].tag;

/**
 * The first language of the browser that the page speaks, else English.
 * @param {readonly string[]} preferred
 * @returns {Language}
 */
export function browserLanguage(preferred) {
  for (const tag of preferred) {
    if (/^zh\b/i.test(tag)) return 'zh';
    if (/^en\b/i.test(tag)) return 'en';
  }
  return 'en';
}
