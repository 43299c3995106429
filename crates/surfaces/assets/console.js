// Keeps a page live and lets a keyboard drive it. Everything works without it, too.
'use strict';

const main = document.getElementById('main');
const live = document.getElementById('live');
const fields = 'input,textarea,select';

// Times count on by themselves.
const span = (ms) => {
  const s = Math.max(0, Math.floor(ms / 1000));
  return s < 60 ? `${s}s` : s < 3600 ? `${Math.floor(s / 60)}m` : s < 86400 ? `${Math.floor(s / 3600)}h` : `${Math.floor(s / 86400)}d`;
};
const tick = () => {
  for (const it of document.querySelectorAll('time')) {
    const at = Date.parse(it.dateTime);
    const text = 'left' in it.dataset ? (at > Date.now() ? (at - Date.now() < 3600000 ? clock(at - Date.now()) : span(at - Date.now())) : 'over') : span(Date.now() - at);
    if (it.textContent !== text) it.textContent = text;
  }
};
const clock = (ms) => `${Math.floor(ms / 60000)}:${String(Math.floor(ms / 1000) % 60).padStart(2, '0')}`;
setInterval(tick, 1000);
tick();

// A new page is laid over the old one: what did not change stays, with its focus and what was typed into it.
const key = (node) => node.nodeType === 1 ? node.dataset.key || node.id || '' : '';
const alike = (at, child) => {
  for (let it = at; it && !key(it); it = it.nextSibling) if (it.nodeName === child.nodeName) return it;
  return null;
};
const morph = (old, fresh) => {
  if (old.nodeType !== 1) { if (old.nodeValue !== fresh.nodeValue && old.parentNode.nodeName !== 'TIME') old.nodeValue = fresh.nodeValue; return; }
  if (old.matches(fields) && old.type !== 'hidden') return;
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name) && name !== 'open' && name !== 'tabindex') old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  const known = new Map([...old.childNodes].filter(key).map((node) => [key(node), node]));
  let at = old.firstChild;
  for (const child of [...fresh.childNodes]) {
    const same = key(child) ? known.get(key(child)) : alike(at, child);
    if (same) {
      // What stands between is gone, unless it has a name by which it is found later.
      while (!key(child) && at !== same) { const next = at.nextSibling; at.remove(); at = next; }
      if (same !== at) old.insertBefore(same, at); else at = at.nextSibling;
      morph(same, child);
    } else {
      if (child.nodeType === 1 && key(child)) child.classList.add('changed');
      old.insertBefore(child, at);
    }
  }
  while (at) { const next = at.nextSibling; at.remove(); at = next; }
};

const show = (page) => {
  document.title = `${page.title} · inbox`;
  const fresh = main.cloneNode(false);
  fresh.innerHTML = page.main;
  morph(main, fresh);
  const home = document.querySelector('nav a[href="/"]');
  let badge = document.getElementById('asks-count');
  if (page.asks > 0 && !badge) { badge = document.createElement('span'); badge.id = 'asks-count'; badge.className = 'badge'; home.append(' ', badge); }
  if (badge) { if (page.asks > 0) badge.textContent = page.asks; else badge.remove(); }
  tick();
};

const follow = () => {
  const source = new EventSource(`/live?at=${encodeURIComponent(document.body.dataset.live)}`);
  source.addEventListener('page', (event) => { live.textContent = 'live'; live.className = ''; show(JSON.parse(event.data)); });
  source.addEventListener('open', () => { live.textContent = 'live'; live.className = ''; });
  source.addEventListener('out', () => { source.close(); live.textContent = 'signed out'; live.className = 'off'; });
  source.addEventListener('error', () => { live.textContent = 'not live: trying again'; live.className = 'off'; });
};
if (document.body.dataset.live) follow();

// After a comma another address is offered, too.
document.addEventListener('input', (event) => {
  const box = event.target;
  if (!('many' in box.dataset) || !box.list) return;
  const begun = /^.*,\s*|^/.exec(box.value)[0];
  for (const it of box.list.options) { it.dataset.name = it.dataset.name || it.value; it.value = begun + it.dataset.name; }
});

// What is wrong with a card is told while it is typed.
let asked = 0;
let soon;
document.addEventListener('input', (event) => {
  const form = event.target.form;
  if (!form || !form.dataset.check) return;
  clearTimeout(soon);
  soon = setTimeout(async () => {
    const turn = ++asked;
    const answer = await fetch(form.dataset.check, { method: 'POST', body: new URLSearchParams(new FormData(form)) }).catch(() => null);
    if (!answer || !answer.ok || turn !== asked) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
    for (const it of form.querySelectorAll('[data-problem]')) {
      const now = fresh.getElementById(it.id);
      const told = now ? now.innerHTML : '';
      if (it.innerHTML !== told) it.innerHTML = told;
      for (const box of form.querySelectorAll(`[aria-describedby~="${it.id}"]`)) { if (told) box.setAttribute('aria-invalid', 'true'); else box.removeAttribute('aria-invalid'); }
    }
  }, 250);
});

// Keys.
const items = () => [...document.querySelectorAll('[data-item]')];
const here = () => items().findIndex((it) => it === document.activeElement || it.contains(document.activeElement));
const go = (step) => {
  const all = items();
  if (!all.length) return;
  const at = here();
  const next = all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + step))];
  next.tabIndex = -1;
  next.focus();
  next.scrollIntoView({ block: 'nearest' });
};
let pending = '';
document.addEventListener('keydown', (event) => {
  const typing = event.target.matches && event.target.matches(fields);
  if (typing) {
    if (event.key === 'Escape') event.target.blur();
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && event.target.form) event.target.form.requestSubmit(event.target.form.querySelector('button.main') || undefined);
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || document.getElementById('keys').open) return;
  const item = items()[here()];
  const done = () => event.preventDefault();
  if (pending === 'g') {
    pending = '';
    const link = document.querySelector(`[data-go="${CSS.escape(event.key)}"]`);
    if (link) { link.click(); done(); }
    return;
  }
  const within = (what) => (item && item.querySelector(what)) || document.querySelector(what);
  switch (event.key) {
    case 'g': pending = 'g'; setTimeout(() => { pending = ''; }, 1500); break;
    case 'j': go(1); done(); break;
    case 'k': go(-1); done(); break;
    case 'r': { const box = within('[data-reply]'); if (box) { box.focus(); done(); } break; }
    case 'e': { const button = item && item.querySelector('[data-do=read]'); if (button) { go(1); button.click(); done(); } break; }
    case '/': document.querySelector('[data-search]').focus(); done(); break;
    case '?': document.getElementById('keys').showModal(); done(); break;
    case 'Enter': { if (event.target === item) { const link = item.querySelector('a.subject,a.summary,a.agent'); if (link) { link.click(); done(); } } break; }
  }
});
