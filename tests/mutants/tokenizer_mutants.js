/** Faults in how texts become tokens. */

/** @typedef {import('./mutants.js').Mutant} Mutant */

const PATTERN = 'tests/lib/tokenizer/pattern.test.js';
const JSON_FILE = 'tests/lib/tokenizer/tokenizer_json.test.js';
const CONFIG = 'tests/lib/tokenizer/tokenizer_config.test.js';

/** @type {Mutant[]} */
export const TOKENIZER_MUTANTS = [
  {
    part: 'tokenizer',
    test: PATTERN,
    breaks: 'an atomic group takes no text',
    file: 'web/lib/tokenizer/pattern/pattern.js',
    line: 'if (zs[step] === ATOMIC && ok) at = end;',
    becomes: '',
  },
  {
    part: 'tokenizer',
    test: PATTERN,
    breaks: 'a set in (?i) is negated before it folds',
    file: 'web/lib/tokenizer/pattern/pattern_sets.js',
    line: 'fold === null ? plain : fold(plain, negative, fail)',
    becomes: 'plain',
  },
  {
    part: 'tokenizer',
    test: 'tests/lib/tokenizer/tokenizer_edges.test.js',
    breaks: 'what the charsmap drops at the beginning is forgotten',
    file: 'web/lib/tokenizer/steps/charsmap.js',
    line: 'if (astray) settleBeginning(source, done, takes);',
    becomes: '',
  },
  {
    part: 'tokenizer',
    test: JSON_FILE,
    breaks: 'an added token has the id that the file says',
    file: 'web/lib/tokenizer/tokenizer_json.js',
    line: 'const id = ids.get(content) ?? model.ids.get(content) ?? next;',
    becomes: 'const id = Number(token.id);',
  },
  {
    part: 'tokenizer',
    test: JSON_FILE,
    breaks: 'the second text never comes first',
    file: 'web/lib/tokenizer/read/read_template.js',
    line: "['0,1', '1,0']",
    becomes: "['0,1']",
  },
  {
    part: 'tokenizer',
    test: 'tests/lib/tokenizer/normalizers.test.js',
    breaks: 'marks are not sorted',
    file: 'web/lib/tokenizer/steps/unicode_forms.js',
    line: 'if (!sorted) sortRow(working, from, to);',
    becomes: '',
  },
  {
    part: 'tokenizer',
    test: 'tests/lib/formats/gguf_tokenizer.test.js',
    breaks: 'the charsmap of a GGUF file looks graphemes up',
    file: 'web/lib/tokenizer/read/read_normalizer.js',
    line: 'step.longest_match === true',
    becomes: 'false',
  },
  {
    part: 'tokenizer',
    test: CONFIG,
    breaks: 'a Mistral folder is set up by the class it names',
    file: 'web/lib/tokenizer/config/tokenizer_classes.js',
    line: 'if (registered === AS_IT_IS) return AS_IT_IS;',
    becomes: '',
  },
  {
    part: 'tokenizer',
    test: CONFIG,
    breaks: 'a legacy Llama marks its first word only',
    file: 'web/lib/tokenizer/config/rebuilt_classes.js',
    line: "legacy ? 'always' : 'first'",
    becomes: "'first'",
  },
  {
    part: 'tokenizer',
    test: 'tests/lib/tokenizer/work.test.js',
    breaks: 'the steps along a piece are not counted',
    file: 'web/lib/tokenizer/models/wordpiece.js',
    line: 'work(TRIE_WORK);',
    becomes: '',
  },
];
