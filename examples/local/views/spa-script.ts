/** Script of the public client: authorization code with PKCE, with browser APIs alone. */
export const spaScript = `
const { issuer, clientId, redirectUri, scope } = document.querySelector('#app').dataset;
const element = (id) => document.getElementById(id);
const base64url = (bytes) => btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)));
const sha256 = async (text) => base64url(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))));
const go = (endpoint, parameters) => location.assign(endpoint + '?' + new URLSearchParams(parameters));

async function json(url, init) {
  const response = await fetch(url, init);
  const body = await response.json();
  if (!response.ok) throw new Error(body.error_description ?? body.error);
  return body;
}

const discover = () => json(issuer + '/.well-known/openid-configuration');

async function signIn() {
  const { authorization_endpoint } = await discover();
  const started = { state: random(), nonce: random(), verifier: random() };
  sessionStorage.setItem('started', JSON.stringify(started));
  go(authorization_endpoint, {
    client_id: clientId,
    response_type: 'code',
    redirect_uri: redirectUri,
    scope,
    state: started.state,
    nonce: started.nonce,
    code_challenge: await sha256(started.verifier),
    code_challenge_method: 'S256',
  });
}

async function complete(response) {
  const started = JSON.parse(sessionStorage.getItem('started') ?? '{}');
  sessionStorage.removeItem('started');
  history.replaceState(null, '', location.pathname);
  if (!started.state || response.get('state') !== started.state) throw new Error('This sign-in was not started here.');
  if (response.get('iss') !== issuer) throw new Error('This answer is not from the identity provider.');
  if (response.has('error')) throw new Error(response.get('error_description') ?? response.get('error'));

  const { token_endpoint, userinfo_endpoint, end_session_endpoint } = await discover();
  const tokens = await json(token_endpoint, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: clientId,
      code: response.get('code'),
      redirect_uri: redirectUri,
      code_verifier: started.verifier,
    }),
  });
  // It comes from the token endpoint itself, so TLS stands in for its signature (OpenID Connect Core §3.1.3.7).
  const claims = payloadOf(tokens.id_token);
  if (claims.iss !== issuer || claims.aud !== clientId || claims.nonce !== started.nonce) throw new Error('The ID token is not for this page.');
  const userinfo = await json(userinfo_endpoint, { headers: { authorization: 'Bearer ' + tokens.access_token } });
  if (userinfo.sub !== claims.sub) throw new Error('The claims are about somebody else.');

  show('id-token', claims);
  show('userinfo', userinfo);
  element('name').textContent = userinfo.name;
  element('company').textContent = userinfo.company_name;
  element('start').hidden = true;
  element('account').hidden = false;
  element('sign-out').hidden = false;
  element('sign-out').onclick = () =>
    go(end_session_endpoint, { id_token_hint: tokens.id_token, post_logout_redirect_uri: redirectUri });
}

function payloadOf(jwt) {
  const bytes = atob(jwt.split('.')[1].replaceAll('-', '+').replaceAll('_', '/'));
  return JSON.parse(new TextDecoder().decode(Uint8Array.from(bytes, (byte) => byte.charCodeAt(0))));
}

function show(id, claims) {
  const rows = Object.entries(claims).map(([name, value]) => {
    const nested = Object.values(Object(value)).some((inner) => typeof inner === 'object');
    const row = document.createElement('div');
    row.className = nested ? 'wide' : '';
    row.dataset.claim = name;
    const code = document.createElement('code');
    code.textContent = JSON.stringify(value, null, nested ? 2 : 0);
    row.append(document.createElement('dt'), document.createElement('dd'));
    row.firstChild.append(name);
    row.lastChild.append(code);
    return row;
  });
  element(id).querySelector('dl').replaceChildren(...rows);
}

function complain(error) {
  element('problem').textContent = error.message;
  element('problem').hidden = false;
}

element('sign-in').onclick = () => signIn().catch(complain);
const response = new URLSearchParams(location.search);
if (response.has('code') || response.has('error')) complete(response).catch(complain);
`;
