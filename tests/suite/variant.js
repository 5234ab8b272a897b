/** node tests/suite/variant.js VARIANT: whether the library takes that build by itself here. */
import { init } from 'qkv';
import '../fresh_dist.js';

const { variant } = (await init()).info;
const isWanted = variant === process.argv[2];
console.log(
  `the build is ${variant}, wanted ${process.argv[2]}: ${Number(isWanted)} passed, ${Number(!isWanted)} failed`,
);
process.exitCode = isWanted ? 0 : 1;
