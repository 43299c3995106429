// Stories of a person before the console, in a real browser.
import { accessible, assert, begun, blocked, browser, inbox, link, live, open, shot, url } from './stage.mjs';
import { spawnSync } from 'node:child_process';
import { cards } from './cards.mjs';
import { corpus } from './hostile.mjs';
import { a_morning_of_work_is_shown_as_the_documents_show_it } from './pictures.mjs';

const stories = {
  ...cards,
  a_morning_of_work_is_shown_as_the_documents_show_it,

  async a_blocked_worker_is_answered_from_the_page_while_two_more_consoles_watch(chrome) {
    const pages = [];
    for (let i = 0; i < 3; i += 1) pages.push(await open(chrome));
    await Promise.all(pages.map(live));
    const { thread } = blocked('May I drop the column legacy_id?');
    const woken = begun('wait-reply', '--agent', 'worker', '--thread', thread, '--timeout-seconds', '60');
    // It was the lead who asked for the work, so the person sees it as blocked on another, and steps in.
    for (const page of pages) await page.getByText('May I drop the column legacy_id?').waitFor();
    await pages[0].getByRole('link', { name: 'Move the invoices' }).click();
    await pages[0].getByText('Your answer wakes who waits').waitFor();
    // What was typed outlives what happens meanwhile.
    await pages[0].getByRole('textbox', { name: 'Your answer wakes who waits' }).fill('Yes, after the backup.');
    inbox('send', '--agent', 'lead', '--thread', thread, '--summary', 'any news?', '--kind', 'event');
    await pages[0].getByText('any news?').first().waitFor();
    await pages[0].getByRole('button', { name: 'Answer', exact: true }).click();
    const { code, told } = await woken;
    assert.equal(code, 0);
    assert.match(told, /Yes, after the backup/);
    for (const page of pages.slice(1)) await page.getByText('May I drop the column legacy_id?').waitFor({ state: 'detached' });
    await pages[0].locator('.message', { hasText: 'Yes, after the backup.' }).waitFor();
    const said = inbox('show', '--thread', thread).messages.at(-1);
    assert.deepEqual([said.from_agent, said.kind, said.auth], ['ada', 'answer', 'token']);
    return pages;
  },

  async an_approval_is_given_by_one_click(chrome) {
    const page = await open(chrome);
    await live(page);
    const sent = inbox('send', '--agent', 'runner-1', '--to', 'human', '--kind', 'question', '--message-type', 'exec.gate', '--subject', 'Deploy build 812?', '--priority', 'urgent', '--body', 'Four migrations.');
    const card = page.locator('.ask.approval');
    await card.waitFor();
    assert.equal(await page.locator('#asks-count').textContent(), '1');
    await shot(page, 'approval');
    await card.getByRole('textbox').fill('Go on.');
    await card.getByRole('button', { name: 'Approve' }).click();
    await card.waitFor({ state: 'detached' });
    const said = inbox('show', '--thread', sent.thread.thread_id).messages.at(-1);
    assert.deepEqual([said.summary, said.body, said.kind], ['approve', 'Go on.', 'answer']);
    assert.equal(inbox('desk', '--agent', 'ada').asks.length, 0);
    return [page];
  },

  async a_channel_is_written_into_and_words_are_found(chrome) {
    inbox('session', 'start', '--agent', 'quinn', '--session', 's1', '--tag', 'project:billing', '--role', 'developer');
    const page = await open(chrome);
    await page.getByRole('link', { name: 'Channels' }).click();
    await page.getByRole('link', { name: 'project:billing' }).click();
    await page.getByRole('textbox', { name: 'Write to project:billing' }).fill('Freeze until the *audit* is over.');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.locator('.message em', { hasText: 'audit' }).waitFor();
    const read = inbox('read', '--agent', 'quinn', '--session', 's1');
    assert.match(read.messages[0].body, /Freeze until/);
    await page.getByRole('searchbox', { name: 'Search all messages' }).fill('audit');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: /Freeze until/ }).waitFor();
    assert.match(page.url(), /q=audit/);
    await page.at('/compose?to=role:developer');
    await page.getByRole('textbox', { name: 'Subject' }).fill('Count them');
    await page.getByRole('radio', { name: /work that one/ }).check();
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('heading', { name: 'Count them' }).waitFor();
    assert.equal(inbox('claim', '--agent', 'quinn', '--session', 's1').thread.subject, 'Count them');
    return [page];
  },

  async a_dead_letter_gets_another_address(chrome) {
    inbox('session', 'start', '--agent', 'quinn', '--session', 's-gone');
    inbox('send', '--agent', 'lead', '--to', 's-gone', '--subject', 'Nobody read this', '--kind', 'event');
    inbox('session', 'end', 's-gone', '--agent', 'quinn', '--session', 's-gone');
    const page = await open(chrome);
    await page.getByRole('link', { name: 'Dead letters' }).click();
    await page.getByText('Nobody read this').waitFor();
    await page.getByRole('textbox', { name: 'Another address' }).fill('mindy');
    await page.getByRole('button', { name: 'Send it there' }).click();
    await page.getByText('Everything reached somebody.').waitFor();
    assert.equal(inbox('read', '--agent', 'mindy').messages[0].summary, 'Nobody read this');
    return [page];
  },

  async everything_is_done_with_the_keyboard_alone(chrome) {
    const page = await open(chrome);
    inbox('send', '--agent', 'worker', '--to', 'ada', '--kind', 'question', '--subject', 'Which port?');
    inbox('send', '--agent', 'worker', '--to', 'ada', '--kind', 'event', '--subject', 'Some news');
    await page.locator('.ask').waitFor();
    await page.locator('.mail li').waitFor();
    const press = async (...keys) => { for (const key of keys) await page.keyboard.press(key); };
    // A key that comes while another page is on its way goes nowhere: a person sees that, and a story waits.
    const leads = (...keys) => Promise.all([page.waitForEvent('load'), press(...keys)]);
    await press('?');
    await page.getByRole('heading', { name: 'Keys' }).waitFor();
    await press('Escape', 'j');
    assert.equal(await page.evaluate(() => document.activeElement.classList.contains('ask')), true);
    const seen = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
    assert.notEqual(seen, 'none');
    await press('r');
    await page.keyboard.type('Port 4380.');
    await leads('Control+Enter');
    await page.locator('.ask').waitFor({ state: 'detached' });
    await leads('j', 'e');
    await page.locator('.mail li').waitFor({ state: 'detached' });
    for (const [key, heading] of [['a', 'Agents'], ['t', 'Threads'], ['c', 'Channels'], ['w', 'Write'], ['f', 'Flow'], ['d', 'Dead letters'], ['l', 'Ledger'], ['s', 'Store'], ['y', 'For you']]) {
      await leads('g', key);
      await page.getByRole('heading', { name: heading, level: 1 }).waitFor();
    }
    await leads('g', 't');
    await page.getByRole('heading', { name: 'Threads', level: 1 }).waitFor();
    await leads('j', 'Enter');
    await page.getByRole('heading', { name: 'Some news', level: 1 }).waitFor();
    await press('/');
    await page.keyboard.type('port');
    await leads('Enter');
    await page.getByRole('link', { name: /Port 4380/ }).waitFor();
    assert.equal(inbox('read', '--agent', 'worker').messages.at(-1).body, 'Port 4380.');
    return [page];
  },

  async no_page_has_a_fault_of_access_on_a_phone_on_a_desk_or_in_the_dark(chrome) {
    inbox('session', 'start', '--agent', 'quinn', '--session', 's1', '--tag', 'project:billing', '--role', 'developer', '--client', 'codex');
    const { thread } = blocked('May I drop the column legacy_id?', ['--run', 'nightly', '--body', '- one\n- `two`\n\n| a | b |\n|---|---|\n| 1 | 2 |']);
    inbox('send', '--agent', 'quinn', '--to', 'human', '--kind', 'question', '--message-type', 'exec.gate', '--subject', 'Deploy?', '--priority', 'urgent');
    inbox('send', '--agent', 'quinn', '--to', 'project:billing', '--subject', 'Hello all', '--kind', 'event');
    inbox('send', '--agent', 'quinn', '--to', 'ada', '--subject', 'Weekly numbers', '--kind', 'event');
    inbox('note', '--agent', 'quinn', '--ref', 'task:T-9', '--note', 'Twice as fast now', '--notify', 'ada');
    const paths = ['/', '/agents', '/agents/quinn', '/agents/quinn/card', '/threads', `/threads/${thread}`, '/threads?q=column', '/channels', '/channels/project:billing', '/compose', '/flow', '/dead', '/ledger', '/store', '/threads/thr_zzz'];
    const pages = [];
    for (const [how, options] of [['desk', {}], ['phone', { viewport: { width: 360, height: 740 }, isMobile: true }], ['dark', { colorScheme: 'dark' }]]) {
      const page = await open(chrome, options);
      for (const path of paths) {
        await page.at(path);
        await accessible(page, `${how} ${path}`);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        assert.ok(wide <= 0, `${how} ${path} is ${wide} too wide`);
        const size = await page.evaluate(() => document.documentElement.outerHTML.length);
        assert.ok(size < 200000, `${path} has ${size}`);
        await shot(page, `${how}${path.replace(/[/?=:]/g, '-')}`);
      }
      pages.push(page);
    }
    return pages;
  },

  async what_is_typed_outlives_every_change_of_the_page(chrome) {
    const page = await open(chrome);
    await live(page);
    await page.at('/compose?to=role:developer');
    // Before the page is live for the first time, and while it changes again and again.
    const box = page.getByRole('textbox', { name: 'Subject' });
    await box.fill('Count them');
    await page.getByRole('radio', { name: /work that one/ }).check();
    await live(page);
    for (const name of ['anna', 'berta', 'carl']) {
      inbox('send', '--agent', name, '--to', 'ada', '--subject', `hello from ${name}`, '--kind', 'event');
      await page.locator(`datalist option[value=${name}]`).waitFor({ state: 'attached' });
      assert.equal(await box.inputValue(), 'Count them');
    }
    await box.press('End');
    await page.keyboard.type(' all');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('heading', { name: 'Count them all' }).waitFor();
    inbox('send', '--agent', 'anna', '--to', 'ada', '--kind', 'question', '--subject', 'First?');
    await page.at('/');
    const first = page.locator('.ask', { hasText: 'First?' });
    await first.getByRole('textbox').fill('one');
    for (const subject of ['Second?', 'Third?']) {
      inbox('send', '--agent', 'berta', '--to', 'ada', '--kind', 'question', '--subject', subject);
      await page.locator('.ask', { hasText: subject }).waitFor();
      assert.equal(await first.getByRole('textbox').inputValue(), 'one');
    }
    await first.getByRole('button', { name: 'Answer' }).click();
    await first.waitFor({ state: 'detached' });
    assert.equal(inbox('read', '--agent', 'anna').messages.at(-1).body, 'one');
    return [page];
  },

  async a_page_without_javascript_is_read_and_answered(chrome) {
    inbox('send', '--agent', 'worker', '--to', 'human', '--kind', 'question', '--subject', 'Which port?');
    const page = await open(chrome, { javaScriptEnabled: false });
    await page.locator('.ask').waitFor();
    assert.equal(await page.locator('noscript a').isVisible(), true);
    await page.getByRole('textbox', { name: 'Your answer' }).fill('4380');
    await page.getByRole('button', { name: 'Answer' }).click();
    await page.getByText('Nothing waits for you').waitFor();
    assert.equal(inbox('read', '--agent', 'worker').messages[0].body, '4380');
    return [page];
  },

  async a_link_opens_once_and_nobody_else_gets_in(chrome) {
    const page = await open(chrome);
    const [cookie] = await page.context().cookies();
    assert.deepEqual([cookie.httpOnly, cookie.sameSite, cookie.path], [true, 'Strict', '/']);
    assert.equal(await page.evaluate(() => document.cookie), '');
    const first = link();
    const get = (where, headers = {}) => fetch(where, { headers, redirect: 'manual' });
    assert.equal((await get(first)).status, 303);
    const again = await get(first);
    assert.equal(again.status, 401);
    assert.match(await again.text(), /opened before/);
    assert.equal((await get(`${url}/`)).status, 401);
    assert.equal((await get(`${url}/live?at=/`)).status, 401);
    // The link's code and a plain token are no session.
    const token = inbox('token', 'create', '--agent', 'ada', '--scope', 'read', '--scope', 'write', '--scope', 'override').secret;
    const name = cookie.name;
    for (const secret of [token, first.split('/').pop(), 'inbox_nonsense', '']) {
      assert.equal((await get(`${url}/`, { cookie: `${name}=${secret}` })).status, 401, secret);
    }
    const mine = { cookie: `${name}=${cookie.value}` };
    const paged = await get(`${url}/`, mine);
    assert.match(paged.headers.get('content-security-policy'), /^default-src 'none';/);
    assert.equal(paged.headers.get('x-content-type-options'), 'nosniff');
    const guard = /name="guard" value="([0-9a-f]+)"/.exec(await paged.text())[1];
    inbox('send', '--agent', 'worker', '--to', 'ada', '--subject', 'one', '--kind', 'event');
    const post = (headers, body) => fetch(`${url}/read`, { method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers }, body, redirect: 'manual' });
    assert.equal((await post(mine, 'all=yes')).status, 403);
    assert.equal((await post(mine, `all=yes&guard=${'0'.repeat(64)}`)).status, 403);
    assert.equal((await post({}, `all=yes&guard=${guard}`)).status, 401);
    assert.equal((await post({ ...mine, origin: 'http://evil.example' }, `all=yes&guard=${guard}`)).status, 403);
    assert.equal((await post({ ...mine, 'sec-fetch-site': 'cross-site' }, `all=yes&guard=${guard}`)).status, 403);
    assert.notEqual((await post({ ...mine, 'content-type': 'text/plain' }, `all=yes&guard=${guard}`)).status, 303);
    assert.equal(inbox('desk', '--agent', 'ada').unread, 1);
    assert.equal((await post(mine, `all=yes&guard=${guard}`)).status, 303);
    assert.equal(inbox('desk', '--agent', 'ada').unread, 0);
    // Only a page of the console is gone on to.
    for (const back of ['//evil.example', 'https://evil.example', '/\\evil.example']) {
      const sent = await post(mine, `all=yes&guard=${guard}&back=${encodeURIComponent(back)}`);
      assert.equal(sent.headers.get('location'), '/');
    }
    await page.locator('.who summary').click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('You are signed out.').waitFor();
    assert.equal((await get(`${url}/`, mine)).status, 401);
    return [page];
  },

  async three_hundred_hostile_messages_do_nothing(chrome) {
    assert.ok(new Set(corpus).size >= Number(process.env.INBOX_HOSTILE), `${corpus.length}`);
    const batch = 30;
    const threads = [];
    for (let i = 0; i < corpus.length; i += 1) {
      const text = corpus[i].replaceAll('\u0000', '');
      if (i % batch === 0) threads.push(inbox('send', '--agent', 'eve', '--to', 'ada', '--subject', text.slice(0, 150) || 'x', '--kind', 'question', '--body', text).thread.thread_id);
      else inbox('send', '--agent', 'eve', '--thread', threads.at(-1), '--summary', text.slice(0, 150), '--body', text, '--payload-json', JSON.stringify({ [text.slice(0, 40)]: text, list: [text] }), '--kind', 'question');
    }
    const page = await open(chrome);
    for (const path of ['/', '/threads', '/threads?q=script', '/agents/eve', '/flow', ...threads.map((id) => `/threads/${id}?all=yes`)]) {
      await page.at(path);
      await page.locator('main').waitFor();
      const found = await page.evaluate(() => {
        const bad = [];
        for (const it of document.querySelectorAll('main *')) {
          if (/^(script|style|iframe|object|embed|img|video|audio|link|meta|base|template|noscript|math|marquee)$/i.test(it.tagName)) bad.push(it.outerHTML);
          for (const { name, value } of it.attributes) {
            if (/^on/i.test(name) || name === 'style' || name === 'srcdoc') bad.push(it.outerHTML);
            if (/^(href|src|action|formaction|xlink:href)$/i.test(name) && !/^(\/(?!\/)|#|\?|https?:\/\/|mailto:)/i.test(value)) bad.push(it.outerHTML);
            if (/^(action|formaction)$/i.test(name) && !/^\//.test(value)) bad.push(it.outerHTML);
          }
        }
        if (/[\u202a-\u202e\u2066-\u2069\u001b]/.test(document.body.innerText)) bad.push('a character that acts');
        return bad;
      });
      assert.deepEqual(found, [], path);
      assert.equal(await page.locator('main').count(), 1);
    }
    return [page];
  },

  async what_is_signed_is_what_the_network_says_and_the_page_compares_the_store_with_it(chrome) {
    const page = await open(chrome);
    await live(page);
    const outside = ['--keys', 'visitor.keys', '--agent', 'visitor'];
    inbox('hcs', 'account', 'create', 'visitor', '--keys', 'visitor.keys');
    inbox('hcs', 'profile', 'publish', '--bio', 'asks for prices', ...outside);
    const quinn = inbox('agent', 'show', 'quinn').agent.account_id;
    inbox('hcs', 'connect', quinn, '--memo', 'prices, please', ...outside);
    const wish = page.locator('.ask.connection');
    await wish.getByRole('button', { name: 'Accept' }).click();
    await wish.waitFor({ state: 'detached' });
    await page.getByText('is connected').first().waitFor();
    const [{ topic_id: topic }] = inbox('hcs', 'connections', ...outside).connections;
    const visitor = inbox('hcs', 'account', 'list', '--keys', 'visitor.keys').accounts[0].account_id;
    // It says one thing and proposes another; what it proposes is shown, and what it says as no more than that.
    inbox('hcs', 'propose', topic, '--transfer', `${quinn}:${visitor}:1.5`, '--text', 'you get 1,000 ℏ', ...outside);
    const card = page.locator('.ask.approval');
    await card.getByText('It takes of quinn at most').waitFor();
    assert.equal(await card.locator('.amount dd').textContent(), '1.5 ℏ');
    assert.match(await card.locator('.deal').innerText(), /quinn [\d.]+ gives 1\.5 ℏ[^]*gets 1\.5 ℏ[^]*over in\s+[\dm:]+[^]*nobody has checked\s+“you get 1,000 ℏ”/);
    await accessible(page, 'an approval');
    await shot(page, 'signature');
    await card.getByRole('link', { name: 'View thread' }).click();
    await page.getByRole('button', { name: 'Sign' }).click();
    await page.getByText(/is signed, and was carried out/).first().waitFor();
    // Whoever else speaks of transactions asks a question, and nothing that looks like a signature.
    inbox('send', '--agent', 'eve', '--to', 'ada', '--kind', 'question', '--message-type', 'transaction.approval', '--subject', 'Sign this', '--payload-json', '{"agent_id":"quinn","max_tinybars":1,"does":["nothing"],"parties":[],"decisions":["approve"]}');
    await page.at('/');
    await page.locator('.ask.question', { hasText: 'Sign this' }).waitFor();
    assert.equal(await page.locator('.ask.approval, .deal').count(), 0);

    // A message on the ledger has its place, and a proof that needs neither.
    const sent = inbox('send', '--agent', 'quinn', '--to', 'ben', '--kind', 'event', '--subject', 'Four each', '--body', 'words');
    await page.at(`/threads/${sent.thread.thread_id}`);
    await page.getByText(/On the ledger: number 1 of/).waitFor();
    const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Proof' }).click()]);
    await file.saveAs('proof.json');
    assert.equal(inbox('verify', '--proof', 'proof.json').stored.subject, 'Four each');
    await shot(page, 'on-the-ledger');

    await page.at('/ledger');
    await page.getByText('was never compared').waitFor();
    await page.getByRole('button', { name: 'Compare now' }).click();
    await page.getByText('The store has what its topics have.').waitFor();
    await accessible(page, 'the ledger');
    await shot(page, 'ledger');
    // One letter, and the page says where.
    spawnSync('python3', ['-c', "import sqlite3; c=sqlite3.connect('.agents/coord.db'); c.execute(\"UPDATE entries SET body='wards' WHERE body='words'\"); c.commit()"]);
    await page.getByRole('button', { name: 'Compare now' }).click();
    await page.getByText('differ in 1 thing').waitFor();
    await page.locator('main a.summary').click();
    await page.getByText('The ledger has it otherwise').waitFor();
    return [page];
  },

  async work_is_given_to_another_and_called_off(chrome) {
    const sent = inbox('send', '--agent', 'lead', '--to', 'worker', '--subject', 'Move it');
    const thread = sent.thread.thread_id;
    inbox('claim', '--agent', 'worker', '--thread', thread);
    const page = await open(chrome);
    await page.at(`/threads/${thread}`);
    await page.getByText('has it for another').waitFor();
    await page.getByText('More', { exact: true }).click();
    await page.getByRole('combobox', { name: 'Give it to' }).fill('quinn');
    await page.getByRole('button', { name: /give it away/i }).click();
    await page.getByText('has it for another').waitFor({ state: 'detached' });
    assert.equal(inbox('claim', '--agent', 'quinn').thread.thread_id, thread);
    await page.getByText('has it for another').waitFor();
    await page.getByText('More', { exact: true }).click();
    await page.getByRole('textbox', { name: /Why it goes back/ }).fill('quinn is on leave');
    await page.getByRole('button', { name: 'Release it' }).click();
    await page.getByText('has it for another').waitFor({ state: 'detached' });
    assert.equal(inbox('show', '--thread', thread).thread.status, 'pending');
    await page.getByText('More', { exact: true }).click();
    await page.getByRole('textbox', { name: 'Why', exact: true }).fill('no longer needed');
    await page.getByRole('button', { name: 'Call it off' }).click();
    await page.locator('.status.cancelled').first().waitFor();
    assert.equal(inbox('show', '--thread', thread).thread.status, 'cancelled');
    return [page];
  },
};

const name = process.argv[2];
const chrome = await browser();
try {
  const pages = await stories[name](chrome);
  for (const page of pages) assert.deepEqual(page.faults, []);
} catch (error) {
  // Where each console was when it went wrong.
  for (const context of chrome.contexts()) {
    for (const page of context.pages()) console.log(page.url(), page.faults, await page.locator('body').innerText().catch(() => ''));
  }
  throw error;
} finally {
  await chrome.close();
}
