// A morning of work, and the pages that the documents show of it. INBOX_PICTURES says where the pictures go.
import { spawnSync } from 'node:child_process';
import { accessible, assert, inbox, open } from './stage.mjs';

const { INBOX_BINARY, INBOX_PICTURES } = process.env;
const now = Date.now();

// Runs a command as if it were so many minutes ago.
const ago = (minutes) => (...words) => {
  const env = { ...process.env, INBOX_NOW: new Date(now - minutes * 60000).toISOString() };
  const { status, stdout } = spawnSync(INBOX_BINARY, [...words, '--json'], { encoding: 'utf8', env });
  assert.equal(status, 0, `inbox ${words.join(' ')}: ${stdout}`);
  return JSON.parse(stdout);
};

const task = (minutes, to, subject, more = []) =>
  ago(minutes)('send', '--agent', 'lead', '--to', to, '--subject', subject, '--run', 'release-42', ...more).thread.thread_id;

const claim = (minutes, agent, thread, seconds = 900) =>
  ago(minutes)('claim', '--agent', agent, '--thread', thread, '--lease-seconds', String(seconds)).lease.lease_token;

const morning = () => {
  const live = inbox;
  live('agent', 'add', 'ada', '--kind', 'human');
  ago(95)('session', 'start', '--agent', 'otto', '--session', 'otto-1', '--role', 'tester', '--tag', 'project:billing', '--client', 'gemini');
  const early = [
    ['Read the old schema', 'quinn', 92, 88, 71], ['List the reports that use it', 'mira', 91, 90, 64], ['Copy production to staging', 'otto', 85, 80, 47],
    ['Write the migration', 'quinn', 70, 68, 41], ['Review the migration', 'mira', 41, 37, 26], ['Try it on staging', 'otto', 40, 33, 19],
  ];
  for (const [subject, who, sent, claimed, done] of early) {
    const role = { quinn: 'developer', mira: 'reviewer', otto: 'tester' }[who];
    const thread = task(sent, `role:${role}`, subject);
    const lease = claim(claimed, who, thread, 3600);
    ago(done)('done', '--agent', who, '--thread', thread, '--lease', lease, '--summary', `${subject}: done`);
  }
  const flaky = task(60, 'role:tester', 'Measure the import');
  const lost = claim(58, 'otto', flaky, 3600);
  ago(52)('fail', '--agent', 'otto', '--thread', flaky, '--lease', lost, '--summary', 'staging was out of disk');

  live('session', 'start', '--agent', 'quinn', '--session', 'quinn-7', '--role', 'developer', '--tag', 'project:billing', '--client', 'claude');
  live('session', 'start', '--agent', 'mira', '--session', 'mira-3', '--role', 'reviewer', '--tag', 'project:billing', '--client', 'codex');
  live('session', 'start', '--agent', 'lead', '--session', 'lead-1', '--role', 'lead', '--tag', 'project:billing', '--client', 'opencode');

  const move = ago(24)('send', '--agent', 'ada', '--to', 'role:developer', '--subject', 'Move the invoices to the new schema', '--run', 'release-42', '--task', 'T-118',
    '--body', 'Keep the old table **readable** until Friday.\n\n1. migrate `invoices`\n2. check the totals\n3. switch the reports').thread.thread_id;
  const lease = claim(22, 'quinn', move, 3600);
  ago(15)('update', '--agent', 'quinn', '--thread', move, '--lease', lease, '--status', 'in_progress', '--summary', '41 of 63 tables moved, totals agree');
  ago(7)('update', '--agent', 'quinn', '--thread', move, '--lease', lease, '--status', 'blocked', '--summary', 'May I drop the column legacy_id?',
    '--body', 'Nothing in the code reads it. `reports/2019.sql` still names it:\n\n```sql\nSELECT legacy_id, total FROM invoices;\n```\n\nI would drop it and mend that report.');
  const review = task(12, 'role:reviewer', 'Review the switch of the reports');
  const held = claim(9, 'mira', review);
  ago(4)('update', '--agent', 'mira', '--thread', review, '--lease', held, '--status', 'in_progress', '--summary', 'two of five reports read');
  task(6, 'role:tester', 'Try the reports on staging', ['--priority', 'high']);
  ago(3)('send', '--agent', 'lead', '--to', 'human', '--kind', 'question', '--message-type', 'exec.gate', '--subject', 'Deploy build 812 to production?', '--priority', 'urgent',
    '--body', 'Four migrations, all tried on staging. The window closes at noon.');
  ago(2)('send', '--agent', 'otto', '--to', 'ada', '--kind', 'event', '--subject', 'Staging has 8 % of its disk left', '--priority', 'urgent');
  ago(11)('note', '--agent', 'mira', '--ref', 'task:T-118', '--note', 'The totals of 2019 differ by one cent: rounding, and harmless.', '--notify', 'ada');
  ago(18)('send', '--agent', 'lead', '--to', 'project:billing', '--kind', 'event', '--subject', 'Freeze from noon', '--body', 'Nothing but release-42 lands today.');
  ago(5)('send', '--agent', 'quinn', '--to', 'mira', '--kind', 'event', '--subject', 'The switch is on branch reports-9');
  return move;
};

export const a_morning_of_work_is_shown_as_the_documents_show_it = async (chrome) => {
  const thread = morning();
  const pages = [];
  for (const [name, path, seen, more] of [
    ['for-you', '/', 'May I drop the column legacy_id?'],
    ['agents', '/agents', 'quinn'],
    ['thread', `/threads/${thread}`, 'legacy_id'],
    ['flow', '/flow?since=2h&run=release-42', 'Write the migration'],
    ['for-you-dark', '/', 'Deploy build 812', { colorScheme: 'dark' }],
    ['phone', '/', 'Deploy build 812', { viewport: { width: 390, height: 844 }, isMobile: true, deviceScaleFactor: 2 }],
  ]) {
    const page = await open(chrome, { viewport: { width: 1200, height: 860 }, ...more });
    await page.at(path);
    await page.getByText(seen).first().waitFor();
    await accessible(page, name);
    if (INBOX_PICTURES) await page.screenshot({ path: `${INBOX_PICTURES}/${name}.png` });
    pages.push(page);
  }
  return pages;
};
