/** Script of pages with passkeys. The script sends no request, because the answer of the authenticator is posted with the form. */

/**
 * Shows the passkey buttons if the browser supports passkeys, and posts the answer of the authenticator. A choice beside a new passkey is closed then, so
 * that the passkey comes first. `data-value` is JSON:
 * - `url`: where the form is posted
 * - `options`: the options of the WebAuthn call
 * - `isNew`: whether a passkey is created
 * - `isConditional`: whether the autofill of the name offers passkeys
 */
export const passkeyScript = `
const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (letter) => letter.charCodeAt(0));
const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\\+/g, '-').replace(/\\//g, '_').replace(/=+$/, '');
const ids = (list) => list && list.map((each) => ({ ...each, id: bytes(each.id) }));
const button = document.querySelector('[data-action="passkey"]');
if (button && window.PublicKeyCredential) {
  const { url, options, isNew, isConditional } = JSON.parse(button.dataset.value);
  const publicKey = { ...options, challenge: bytes(options.challenge) };
  if (isNew) publicKey.user = { ...options.user, id: bytes(options.user.id) };
  if (publicKey.allowCredentials) publicKey.allowCredentials = ids(publicKey.allowCredentials);
  if (publicKey.excludeCredentials) publicKey.excludeCredentials = ids(publicKey.excludeCredentials);
  const send = (credential) => {
    const { id, type, response } = credential;
    const answer = { clientDataJSON: text(response.clientDataJSON) };
    if (isNew) {
      answer.attestationObject = text(response.attestationObject);
      answer.transports = response.getTransports ? response.getTransports() : [];
    } else {
      answer.authenticatorData = text(response.authenticatorData);
      answer.signature = text(response.signature);
      if (response.userHandle) answer.userHandle = text(response.userHandle);
    }
    const field = document.createElement('input');
    field.type = 'hidden';
    field.name = 'response';
    field.value = JSON.stringify({ id, rawId: id, type, response: answer, clientExtensionResults: {} });
    button.form.append(field);
    button.form.action = url;
    button.form.submit();
  };
  let waiting;
  const ask = (mediation) => {
    if (waiting) waiting.abort();
    waiting = new AbortController();
    const request = { publicKey, signal: waiting.signal, ...(mediation ? { mediation } : {}) };
    return (isNew ? navigator.credentials.create(request) : navigator.credentials.get(request)).then((credential) => credential && send(credential), () => {});
  };
  for (let each = button; each && each.hidden; each = each.previousElementSibling) each.hidden = false;
  const other = isNew && document.querySelector('details.choice');
  if (other && !other.querySelector('[aria-invalid]')) other.open = false;
  button.addEventListener('click', (event) => {
    event.preventDefault();
    ask();
  });
  const name = document.getElementById('identifier');
  if (isConditional && name && PublicKeyCredential.isConditionalMediationAvailable) {
    name.autocomplete = 'username webauthn';
    PublicKeyCredential.isConditionalMediationAvailable().then((isThere) => isThere && !waiting && ask('conditional'));
  }
}
`;
