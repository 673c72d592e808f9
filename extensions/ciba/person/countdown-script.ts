/**
 * The script of the page of one request. The script counts the seconds down in the words of the page's language, as `fromNow` writes them. After the
 * request has expired, the script reloads the page. The seconds come from the service, because the clock of the device may be wrong. The script has no
 * less-than sign, so that no part of it looks like a tag.
 */
export const countdownScript = `const shown = document.querySelector('[data-seconds]');
if (shown) {
  const end = performance.now() + Number(shown.dataset.seconds) * 1000;
  const format = new Intl.RelativeTimeFormat(document.documentElement.lang, { numeric: 'auto' });
  const timer = setInterval(() => {
    const left = Math.floor((end - performance.now()) / 1000);
    if (0 > left) {
      clearInterval(timer);
      location.reload();
    } else shown.textContent = 120 > left ? format.format(left, 'second') : format.format(Math.trunc(left / 60), 'minute');
  }, 1000);
}`;
