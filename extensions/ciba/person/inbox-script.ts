/**
 * The script of the inbox, which reloads the page so that new requests appear. The script does not reload the page while the user has focus on a part of
 * the page.
 */
export const inboxScript = `const look = () => setTimeout(() => {
  const isIdle = document.visibilityState === 'visible' && navigator.onLine && !document.querySelector('details[open]')
    && (document.activeElement === document.body || document.activeElement === null);
  if (isIdle) location.reload();
  else look();
}, 4000);
look();`;
