/** Button that shows a password. The button needs scripts, and is absent without scripts. */
import { type Html, html } from '../../../../lib/extension-door.js';
import { eyeIcon } from './icons.js';

export const revealButton = (field: string, label: string): Html =>
  html`<button class="reveal" type="button" hidden aria-controls="${field}" aria-pressed="false" aria-label="${label}">${eyeIcon}</button>`;

/** Hides a shown password before it is sent, because browsers offer to save fields that are sent as text. */
export const revealScript = `document.querySelectorAll('.reveal').forEach(function (button) {
  var input = document.getElementById(button.getAttribute('aria-controls'));
  function show(isShown) {
    input.type = isShown ? 'text' : 'password';
    button.setAttribute('aria-pressed', String(isShown));
  }
  button.hidden = false;
  button.addEventListener('click', function () { show(input.type === 'password'); });
  input.form.addEventListener('submit', function () { show(false); });
});`;
