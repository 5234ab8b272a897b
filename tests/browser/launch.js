/** Headless Chromium for the tests: one for the whole run where tests/run.js has started one, else one of its own. */
import { execFileSync } from 'node:child_process';
import { chromium } from 'playwright-core';

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

function findChromium() {
  const names = ['chromium', 'chromium-browser', 'google-chrome'];
  return (
    process.env.CHROMIUM ??
    execFileSync('sh', ['-c', names.map((name) => `command -v ${name}`).join(' || ')], { encoding: 'utf8' }).trim()
  );
}

/** A browser that programs share, each with contexts of its own; its address goes to them as QKV_BROWSER. */
export const launchServer = () => chromium.launchServer({ executablePath: findChromium(), args: FLAGS });

/** Closing it closes the contexts that were opened here, and a browser that nobody shares. */
export const launchBrowser = () => {
  const shared = process.env.QKV_BROWSER;
  return shared ? chromium.connect(shared) : chromium.launch({ executablePath: findChromium(), args: FLAGS });
};
