// Stories of a person who looks after agents: their cards, their mail, and what wakes them.
import fs from 'node:fs';
import { accessible, assert, inbox, live, open, shot } from './stage.mjs';

const card = (more = {}) => ({
  card_version: '1.0',
  identity: { slug: 'quinn', name: 'Quinn', reports_to: 'human', x_desk: 4 },
  scope: 'I own the invoices.',
  capabilities: ['Write code', 'Read logs'],
  escalation_rules: [{ trigger: 'A key is missing', route_to: 'human', via: 'inbox' }],
  x_own: { kept: true },
  ...more,
});
const give = (it) => { fs.writeFileSync('card.json', JSON.stringify(it)); return inbox('card', 'set', 'quinn', 'card.json'); };
const shown = () => inbox('card', 'show', 'quinn').card;

export const cards = {
  async a_card_is_written_and_its_rules_are_told_while_one_types(chrome) {
    inbox('agent', 'add', 'quinn', '--name', 'Quinn');
    const page = await open(chrome);
    await page.at('/agents/quinn');
    await page.getByRole('link', { name: 'Write a card' }).click();
    const field = (name) => page.getByRole('textbox', { name, exact: true });
    // The rules stand beside the fields, as the types have them.
    await page.getByText('What the agent never does, each beginning with "I never ".').waitFor();
    await page.getByText('at most 1000 characters').first().waitFor();
    await field('scope').fill('I own the invoices.');
    await field('constraints').fill('Be careful');
    await page.locator('#problem-field-constraints').getByText(/line 1 must begin with "I never "/).waitFor();
    await page.locator('[id="problem-field-identity-name"]').getByText(/is empty/).waitFor();
    assert.equal(await field('constraints').getAttribute('aria-invalid'), 'true');
    await accessible(page, 'a card with problems');
    await shot(page, 'card-problems');
    await field('constraints').fill('I never drop a table');
    await page.getByText(/must begin with/).waitFor({ state: 'detached' });
    assert.equal(await field('constraints').getAttribute('aria-invalid'), null);
    await field('name').fill('Quinn');
    await field('reports to').fill('nobody');
    await page.getByText(/there is no agent "nobody"/).waitFor();
    await field('reports to').fill('human');
    await page.getByText(/there is no agent/).waitFor({ state: 'detached' });
    await field('capabilities').fill('Write code\n\nRead logs');
    await field('trigger').fill('A key is missing');
    await field('route to').fill('human');
    await page.getByRole('combobox', { name: 'via' }).selectOption('inbox');
    // Nothing was saved while it was typed.
    assert.equal(shown(), null);
    await page.getByRole('button', { name: 'Save the card' }).click();
    await page.getByText('I never drop a table').waitFor();
    assert.equal(new URL(page.url()).pathname, '/agents/quinn');
    const kept = shown();
    assert.deepEqual([kept.identity.slug, kept.capabilities, kept.escalation_rules[0].via], ['quinn', ['Write code', 'Read logs'], 'inbox']);
    return [page];
  },

  async two_who_edit_one_card_lose_nothing(chrome) {
    inbox('agent', 'add', 'quinn');
    give(card());
    const page = await open(chrome);
    await page.at('/agents/quinn/card');
    await page.getByRole('textbox', { name: 'scope', exact: true }).fill('I own all that is paid.');
    give(card({ scope: 'I own nothing.' }));
    await page.getByRole('button', { name: 'Save the card' }).click();
    await page.getByRole('alert').getByText('Somebody else changed this card').waitFor();
    await page.getByRole('alert').getByText('I own nothing.').waitFor();
    assert.equal(shown().scope, 'I own nothing.');
    await accessible(page, 'a card that was changed');
    await shot(page, 'card-changed');
    // What was written is still there, and whoever has seen the other may go on.
    assert.equal(await page.getByRole('textbox', { name: 'scope', exact: true }).inputValue(), 'I own all that is paid.');
    await page.getByRole('button', { name: 'Save the card' }).click();
    await page.getByRole('link', { name: 'Edit the card' }).waitFor();
    assert.deepEqual(shown(), card({ scope: 'I own all that is paid.' }));
    // The same as JSON, with what is wrong told by its place.
    await page.getByRole('link', { name: 'Edit the card' }).click();
    await page.getByText('The same as JSON').click();
    const box = page.getByRole('textbox', { name: 'The card, as JSON' });
    await box.fill('{"card_version": ');
    await page.getByText(/is not JSON: EOF/).waitFor();
    await box.fill(JSON.stringify(card({ capabilities: [], identity: { slug: 'other', name: 'Q', reports_to: 'human' } })));
    await page.locator('#problem-json code', { hasText: '/capabilities' }).waitFor();
    await page.locator('#problem-json p', { hasText: /identity\/slug.*the card is for quinn/ }).waitFor();
    await box.fill(JSON.stringify(card({ values: ['Exactness'] })));
    await page.locator('#problem-json p').first().waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Save this JSON' }).click();
    await page.getByText('Exactness').waitFor();
    assert.deepEqual(shown(), card({ values: ['Exactness'] }));
    return [page];
  },

  async a_card_is_edited_without_javascript(chrome) {
    inbox('agent', 'add', 'quinn');
    give(card());
    const page = await open(chrome, { javaScriptEnabled: false, viewport: { width: 360, height: 740 } });
    await page.at('/agents/quinn/card');
    await page.getByRole('textbox', { name: 'scope', exact: true }).fill('');
    await page.getByRole('textbox', { name: 'values', exact: true }).fill('<b>Exactness</b>');
    await page.getByRole('button', { name: 'Save the card' }).click();
    await page.getByRole('alert').getByText('The card was not saved').waitFor();
    await page.locator('#problem-field-scope').getByText('is empty').waitFor();
    assert.equal(await page.getByRole('textbox', { name: 'values', exact: true }).inputValue(), '<b>Exactness</b>');
    assert.deepEqual(shown(), card());
    await page.getByRole('textbox', { name: 'scope', exact: true }).fill('I own it.');
    await page.getByRole('button', { name: 'Save the card' }).click();
    await page.getByText('I own it.').waitFor();
    assert.equal(shown().values[0], '<b>Exactness</b>');
    // A form of another site's does nothing, and neither does one without its word.
    const refused = await page.context().request.post(new URL('/agents/quinn/card', page.url()).href, { form: { form: 'json', json: '{}', base: '' } });
    assert.equal(refused.status(), 403);
    const unchecked = await page.context().request.post(new URL('/agents/quinn/card/check', page.url()).href, { form: { form: 'json', json: '{}' } });
    assert.equal(unchecked.status(), 403);
    return [page];
  },

  async an_agents_page_has_its_mail_its_sessions_and_what_wakes_it(chrome) {
    inbox('agent', 'add', 'quinn', '--account-id', '0.0.1001', '--inbound-topic-id', '0.0.1002');
    inbox('session', 'start', '--agent', 'quinn', '--session', 's1', '--role', 'developer', '--tag', 'project:billing', '--client', 'codex');
    for (let n = 1; n <= 18; n += 1) inbox('send', '--agent', 'lead', '--to', n % 2 ? 'quinn' : 'role:developer', '--kind', 'event', '--subject', `Letter ${n}`);
    inbox('read', '--agent', 'quinn', '--session', 's1', '--limit', '17');
    const page = await open(chrome);
    await page.getByRole('link', { name: 'Agents' }).click();
    await live(page);
    await page.getByText('nothing wakes it').waitFor();
    await page.getByRole('link', { name: 'quinn', exact: true }).click();
    await page.getByText('nothing: no hook of it has run on this machine').waitFor();
    const mail = page.locator('ul.mail li');
    assert.equal(await mail.count(), 15);
    assert.match(await mail.first().textContent(), /Letter 18.*unread/s);
    assert.doesNotMatch(await mail.nth(1).textContent(), /unread/);
    // It is live, and older mail is a page away.
    await live(page);
    inbox('send', '--agent', 'lead', '--to', 'quinn', '--kind', 'event', '--subject', 'Letter 19');
    await mail.first().getByText('Letter 19').waitFor();
    await page.getByRole('link', { name: 'Earlier mail' }).click();
    await mail.getByText('Letter 1', { exact: true }).waitFor();
    assert.equal(await mail.getByText('Letter 19').count(), 0);
    await page.getByRole('link', { name: '0.0.1002' }).click();
    await page.getByRole('heading', { name: 'Ledger', level: 1 }).waitFor();
    return [page];
  },
};
