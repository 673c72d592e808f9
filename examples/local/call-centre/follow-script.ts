/** Script that reloads the page each second while the page waits for an answer. */
export const followScript = `
while (document.querySelector('[data-awaits]')) {
  await new Promise((resolve) => setTimeout(resolve, 1000));
  const answer = await fetch(location.href).catch(() => undefined);
  if (!answer?.ok) continue;
  const main = new DOMParser().parseFromString(await answer.text(), 'text/html').querySelector('main');
  const before = document.querySelector('main');
  if (main.innerHTML !== before.innerHTML) before.replaceWith(main);
}
`;
