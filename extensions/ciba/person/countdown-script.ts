/**
 * The script of the page of one request: counts the seconds down in the words of the page's language, as `fromNow` writes them, and reloads the page when
 * the request has expired. The seconds come from the service, because the clock of the device may be wrong.
 */
export const countdownScript = `const shown = document.querySelector('[data-seconds]');
if (shown) {
  const end = performance.now() + Number(shown.dataset.seconds) * 1000;
  const format = new Intl.RelativeTimeFormat(document.documentElement.lang, { numeric: 'auto' });
  const timer = setInterval(() => {
    const left = Math.floor((end - performance.now()) / 1000);
    if (left < 0) {
      clearInterval(timer);
      location.reload();
    } else shown.textContent = left < 120 ? format.format(left, 'second') : format.format(Math.trunc(left / 60), 'minute');
  }, 1000);
}`;
