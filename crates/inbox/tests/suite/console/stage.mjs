// What every story needs: the program, a browser, a way in.
import { spawn, spawnSync } from 'node:child_process';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const require = createRequire(import.meta.url);
const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const { INBOX_BINARY, INBOX_URL, CHROMIUM, INBOX_SHOTS } = process.env;

export const inbox = (...words) => {
  // 10 is an outcome: there was nothing.
  const { status, stdout } = spawnSync(INBOX_BINARY, [...words, '--json'], { encoding: 'utf8' });
  assert.ok(status === 0 || status === 10, `inbox ${words.join(' ')}: ${stdout}`);
  return JSON.parse(stdout);
};

// A process that goes on; what it says at its end.
export const begun = (...words) => {
  const child = spawn(INBOX_BINARY, [...words, '--json'], { stdio: ['ignore', 'pipe', 'inherit'] });
  let told = '';
  child.stdout.on('data', (piece) => { told += piece; });
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, told })));
};

export const blocked = (question, more = []) => {
  const sent = inbox('send', '--agent', 'lead', '--to', 'worker', '--subject', 'Move the invoices', ...more);
  const thread = sent.thread.thread_id;
  const lease = inbox('claim', '--agent', 'worker', '--thread', thread).lease.lease_token;
  inbox('update', '--lease', lease, '--thread', thread, '--status', 'blocked', '--summary', question);
  return { thread, lease };
};

export const link = () => {
  inbox('agent', 'list').agents.some((agent) => agent.agent_id === 'ada') || inbox('agent', 'add', 'ada', '--kind', 'human');
  return inbox('ui', '--no-open', '--as', 'ada', '--listen', new URL(INBOX_URL).host).url;
};

export const browser = () => chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-dev-shm-usage'] });

// A console of its own. What a page must not do is noted and ends the story.
export const open = async (chrome, options = {}) => {
  const context = await chrome.newContext({ viewport: { width: 1200, height: 900 }, ...options });
  const faults = [];
  await context.route('**/*', (route) => {
    const to = new URL(route.request().url());
    if (to.origin === new URL(INBOX_URL).origin) return route.continue();
    faults.push(`asked for ${to}`);
    return route.abort();
  });
  const page = await context.newPage();
  page.setDefaultTimeout(20000);
  page.on('dialog', (dialog) => { faults.push(`dialog ${dialog.message()}`); dialog.dismiss(); });
  page.on('pageerror', (error) => faults.push(`error ${error.message}`));
  page.on('console', (message) => { if (/Content Security Policy|TypeError/.test(message.text())) faults.push(message.text()); });
  await page.goto(link());
  assert.equal(new URL(page.url()).pathname, '/');
  page.faults = faults;
  page.at = (path) => page.goto(new URL(path, INBOX_URL).href);
  return page;
};

export const live = (page) => page.locator('#live', { hasText: /^live$/ }).waitFor();

export const accessible = async (page, where) => {
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
  const told = found.violations.map((it) => `${it.id}: ${it.nodes.map((node) => node.html).join(' | ')}`);
  assert.deepEqual(told, [], `${where}: ${told.join('\n')}`);
};

export const shot = (page, name) => INBOX_SHOTS ? page.screenshot({ path: `${INBOX_SHOTS}/${name}.png` }) : null;

export const url = INBOX_URL;
export { assert };
