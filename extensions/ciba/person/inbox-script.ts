/** The script of the inbox: who waits for a request there sees it come. It leaves the page alone while somebody is at something on it. */
export const inboxScript = `const look = () => setTimeout(() => {
  const isIdle = document.visibilityState === 'visible' && navigator.onLine && !document.querySelector('details[open]')
    && (document.activeElement === document.body || document.activeElement === null);
  if (isIdle) location.reload();
  else look();
}, 4000);
look();`;
