/**
 * Texts to start from. Each was chosen by looking for a head that shows something in it: layer, head and cell name
 * what the bundled model does there. Only texts and places are written down; every weight is computed.
 */

/** @typedef {{ word: import('./words/translate.js').WordKey, text: string, layer: number, head: number, row: number, col: number }} Preset */
/** For other models the place is the reader's to find. @typedef {Pick<Preset, 'word' | 'text'> & Partial<Preset>} AnyPreset */

const LONG_TEXT = `Imagine a library in which every book has a label on its spine. You walk in with a question. Instead of
choosing one book, you compare your question with every label at once. Labels that fit well get much of your
attention, labels that fit badly get little, and what you carry home is a mixture of the contents, each book in
proportion to how well its label matched. The question is called the query, the label is called the key, and the
content is called the value. That is all attention is: a soft look-up in a memory. In self-attention the books, the
labels and the questions come from the same place. Every word of a sentence writes its own question, its own label and
its own content, and every word then reads from all the others. How a word writes them was learned: three tables of
numbers, found by training on a great deal of text, turn the description of a word into a query, a key and a value.
One such reading is called a head. A single head can only look for one kind of thing at a time, so a layer has many of
them, side by side, each with its own three tables. One head may look at the word before, another at the word after, a
third may find the noun that a pronoun stands for, and a fourth may have nothing to do in this sentence and rest its
eyes on the first token, where looking costs nothing. What the heads bring back is laid end to end and mixed by one
more table. Then the next layer begins, and its words already know something about one another. After six such layers
the word it may carry the meaning of the animal it refers to, and the word bank may have decided between a river and
money. None of this is magic, and none of it is hidden. The scores are products and sums. They are divided by the
square root of the width of a head, because sums of many products grow large and a softmax over large numbers looks at
one place only. The softmax turns the scores of a row into shares that add up to one. You can follow every single
number from the sentence to the result, with a pencil if you have the patience. A warning belongs here. That a head
looked at a word does not mean that the word was the reason for what the model did next. Attention shows where the
information could have come from, not what was made of it.`;

/** @type {readonly Preset[]} */
const PRESETS = [
  {
    word: 'presetIt',
    text: "The animal didn't cross the street because it was too tired.",
    layer: 3,
    head: 1,
    row: 10,
    col: 2,
  },
  { word: 'presetAgree', text: 'The keys to the cabinet are on the table.', layer: 3, head: 1, row: 6, col: 2 },
  { word: 'presetHe', text: 'She gave him her book because he had lost his.', layer: 2, head: 9, row: 7, col: 3 },
  {
    word: 'presetAgain',
    text: 'The cat sat on the mat and the cat slept.',
    layer: 2,
    head: 9,
    row: 9,
    col: 2,
  },
  {
    word: 'presetPrevious',
    text: 'Mary gave the ball to John and Peter gave the cup to Anna.',
    layer: 0,
    head: 2,
    row: 9,
    col: 8,
  },
  { word: 'presetSink', text: 'The chef who ran to the store was out of food.', layer: 4, head: 5, row: 11, col: 0 },
  {
    word: 'presetPieces',
    text: 'Antidisestablishmentarianism is unbelievably long.',
    layer: 0,
    head: 5,
    row: 4,
    col: 2,
  },
  { word: 'presetCode', text: 'for (let i = 0; i < n; i++) sum += x[i];', layer: 2, head: 4, row: 15, col: 2 },
  { word: 'presetChinese', text: '北京是中国的首都，东京是日本的首都。', layer: 2, head: 9, row: 11, col: 2 },
  { word: 'presetLong', text: LONG_TEXT.replaceAll('\n', ' '), layer: 2, head: 9, row: 118, col: 46 },
];

/** Beginnings for a decoder to go on from. @type {readonly AnyPreset[]} */
const BEGINNINGS = [
  { word: 'presetCapital', text: 'The capital of France is' },
  { word: 'presetCount', text: 'one two three four five six seven' },
  { word: 'presetCopy', text: 'The grey fox met Lena Brandt. Later that day the grey fox met Lena' },
  { word: 'presetStory', text: 'Once upon a time, in a small village by the sea, there lived' },
];
/** Texts that show something in any model; the others are about the tokens or the heads of the bundled one. @type {readonly string[]} */
const FOR_ALL = ['presetIt', 'presetAgain', 'presetPrevious', 'presetCode', 'presetChinese', 'presetLong'];

/** @param {'bundled' | 'encoder' | 'decoder'} kind of the model */
export function presetsFor(kind) {
  if (kind === 'bundled') return PRESETS;
  const others = PRESETS.filter(({ word }) => FOR_ALL.includes(word));
  return kind === 'decoder' ? [...BEGINNINGS, ...others] : others;
}
