/** Script that requests new events each second, and reloads the persons after each event. */
export const backOfficeScript = `
const feed = document.querySelector('.feed');
let after = '';

function show({ type, time, actor, sequence, data }) {
  const item = document.createElement('li');
  item.dataset.event = type;
  const name = document.createElement('strong');
  name.textContent = type;
  const about = document.createElement('span');
  about.textContent = new Date(time).toLocaleTimeString() + (actor ? ' by ' + actor : '');
  const details = document.createElement('code');
  details.textContent = JSON.stringify(data);
  item.append(name, about, details);
  feed.prepend(item);
}

async function showPersons() {
  const answer = await fetch('/back-office');
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  document.getElementById('persons').replaceWith(page.getElementById('persons'));
}

async function look() {
  const answer = await fetch('/back-office/events?after=' + encodeURIComponent(after));
  if (!answer.ok) return;
  const isFirst = after === '';
  const { items, next } = await answer.json();
  for (const event of items) show(event);
  after = next ?? after;
  if (!isFirst && items.length > 0) await showPersons();
}

for (;;) {
  await look().catch(() => undefined);
  await new Promise((resolve) => setTimeout(resolve, 1000));
}
`;
