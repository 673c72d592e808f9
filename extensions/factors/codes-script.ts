/** Script that copies, saves and prints the recovery codes of the page. */
export const codesScript = `
const codes = [...document.querySelectorAll('#codes code')].map((code) => code.textContent).join('\\n');
const actions = {
  copy: (button) => navigator.clipboard.writeText(codes).then(() => { button.textContent = button.dataset.done; }),
  download: (button) => {
    const link = document.createElement('a');
    link.href = 'data:text/plain;charset=utf-8,' + encodeURIComponent(codes + '\\n');
    link.download = button.dataset.value;
    link.click();
  },
  print: () => window.print(),
};
for (const [name, act] of Object.entries(actions)) {
  const button = document.querySelector('[data-action="' + name + '"]');
  if (!button || (name === 'copy' && !navigator.clipboard)) continue;
  button.hidden = false;
  button.addEventListener('click', () => act(button));
}
`;
