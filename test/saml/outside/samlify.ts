/** Application by the documentation of samlify, for one browser. `/` answers the signed-in user. */
import express, { type Request, type Response } from 'express';
import { IdentityProvider, ServiceProvider, setSchemaValidator } from 'samlify';

const { IDP = '', ORIGIN = '', PORT = '', KEY = '', CERTIFICATE = '', SECURED } = process.env;

// The library has no validator, and reads no message without one.
setSchemaValidator({ validate: () => Promise.resolve('valid') });
const idp = IdentityProvider({
  metadata: await (await fetch(`${IDP}/metadata`)).text(),
  isAssertionEncrypted: SECURED !== undefined,
  wantLogoutRequestSigned: true,
  wantLogoutResponseSigned: true,
});
const uriOf = (binding: string): string => `urn:oasis:names:tc:SAML:2.0:bindings:HTTP-${binding}`;
// By Redirect, the library can verify logout messages only if the metadata has one certificate.
const [logoutBinding, logoutUri] = SECURED ? (['post', uriOf('POST')] as const) : (['redirect', uriOf('Redirect')] as const);
const sp = ServiceProvider({
  entityID: `${ORIGIN}/saml/metadata`,
  authnRequestsSigned: SECURED !== undefined,
  wantAssertionsSigned: true,
  wantLogoutRequestSigned: true,
  wantLogoutResponseSigned: true,
  signingCert: CERTIFICATE,
  privateKey: KEY,
  ...(SECURED ? { encryptCert: CERTIFICATE, encPrivateKey: KEY } : {}),
  assertionConsumerService: [{ Binding: uriOf('POST'), Location: `${ORIGIN}/saml/acs` }],
  singleLogoutService: [{ Binding: logoutUri, Location: `${ORIGIN}/saml/slo` }],
});

interface User {
  readonly nameId: string;
  readonly attributes: unknown;
  readonly relayState: string;
  readonly sessionIndex: string;
}
/** One browser is enough. */
let user: User | undefined;

const app = express();
app.use(express.urlencoded({ extended: false }));
app.get('/login', (req, res) => {
  res.redirect(sp.createLoginRequest(idp, 'redirect', { relayState: String(req.query.RelayState ?? '') }).context);
});
app.post('/saml/acs', async (req, res) => {
  const { extract } = await sp.parseLoginResponse(idp, 'post', req);
  const { nameID = '', attributes, sessionIndex } = extract;
  const index = String(sessionIndex?.sessionIndex ?? sessionIndex);
  user = { nameId: nameID, attributes, relayState: req.body.RelayState ?? '', sessionIndex: index };
  res.redirect('/');
});

type Sent = ReturnType<typeof sp.createLogoutRequest>;
/** Sends a message by Redirect or by POST, as the library wrote it. */
function send(res: Response, message: Sent): void {
  if (!('entityEndpoint' in message)) {
    res.redirect(message.context);
    return;
  }
  const { context, entityEndpoint, type, relayState = '' } = message;
  const field = (name: string, value: string): string => `<input type="hidden" name="${name}" value="${value}">`;
  const fields = field(type, context) + field('RelayState', relayState);
  res.send(`<body onload="document.forms[0].submit()"><form method="post" action="${entityEndpoint}">${fields}</form></body>`);
}
app.get('/logout', (_req, res) => {
  const { nameId: logoutNameID = '', sessionIndex = '' } = user ?? {};
  send(res, sp.createLogoutRequest(idp, logoutBinding, { logoutNameID, sessionIndex }, { relayState: '/' }));
});
/** Returns the signed text: the parameters as they were sent, without the signature. */
const signed = ({ url }: Request): string => url.replace(/^[^?]*\?/, '').replace(/&Signature=[^&]*/, '');
app.all('/saml/slo', async (req, res) => {
  const message = { query: req.query, body: req.body, octetString: signed(req) };
  const { SAMLResponse, RelayState = '' } = { ...req.query, ...req.body } as Readonly<Record<string, string>>;
  if (SAMLResponse !== undefined) {
    await sp.parseLogoutResponse(idp, logoutBinding, message);
    user = undefined;
    res.redirect('/');
    return;
  }
  const asked = await sp.parseLogoutRequest(idp, logoutBinding, message);
  user = undefined;
  send(res, sp.createLogoutResponse(idp, asked as never, logoutBinding, RelayState));
});
app.get('/saml/metadata', (_req, res) => {
  res.type('application/samlmetadata+xml').send(sp.getMetadata());
});
app.get('/', (_req, res) => {
  const { sessionIndex: _, ...shown } = user ?? {};
  res.json(user === undefined ? null : shown);
});
app.listen(Number(PORT), '127.0.0.1');
