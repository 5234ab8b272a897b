/** Packages that only a measurement needs, other versions of Node and the peer: npm puts them into a folder of build/. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { inTree } from './runtime.js';

/**
 * The folder of a package, which is installed where it is missing.
 * @param {string} name
 * @param {string} version
 * @param {string} folder in build/
 */
export function packageFolder(name, version, folder) {
  const prefix = inTree(`build/${folder}`);
  const installed = join(prefix, 'node_modules', name);
  if (existsSync(join(installed, 'package.json'))) return installed;
  console.error(`bench: installing ${name}@${version} from npm into build/${folder}`);
  const args = [
    'install',
    '--silent',
    '--no-save',
    '--no-audit',
    '--no-fund',
    '--prefix',
    prefix,
    `${name}@${version}`,
  ];
  const { status } = spawnSync('npm', args, { stdio: ['ignore', 'inherit', 'inherit'] });
  if (status === 0 && existsSync(installed)) return installed;
  console.error(`bench: npm could not install ${name}@${version}`);
  process.exit(1);
}
