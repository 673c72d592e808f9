/** An application by the documentation of samlify, for one browser. `/` answers who is signed in. */
import express, { type Request } from 'express';
import { IdentityProvider, ServiceProvider, setSchemaValidator } from 'samlify';

const { IDP = '', ORIGIN = '', PORT = '', KEY = '', CERTIFICATE = '', SECURED } = process.env;

// The library has no validator of its own, and does nothing without one.
setSchemaValidator({ validate: () => Promise.resolve('valid') });
const metadata = await (await fetch(`${IDP}/metadata`)).text();
const idp = IdentityProvider({
  // samlify signs its requests only where this document asks for it, and only then.
  metadata: SECURED ? metadata.replace('WantAuthnRequestsSigned="false"', 'WantAuthnRequestsSigned="true"') : metadata,
  isAssertionEncrypted: SECURED !== undefined,
  wantLogoutRequestSigned: true,
  wantLogoutResponseSigned: true,
});
const binding = (name: string): string => `urn:oasis:names:tc:SAML:2.0:bindings:HTTP-${name}`;
const sp = ServiceProvider({
  entityID: `${ORIGIN}/saml/metadata`,
  authnRequestsSigned: SECURED !== undefined,
  wantAssertionsSigned: true,
  wantLogoutRequestSigned: true,
  wantLogoutResponseSigned: true,
  signingCert: CERTIFICATE,
  privateKey: KEY,
  ...(SECURED ? { encryptCert: CERTIFICATE, encPrivateKey: KEY } : {}),
  assertionConsumerService: [{ Binding: binding('POST'), Location: `${ORIGIN}/saml/acs` }],
  singleLogoutService: [{ Binding: binding('Redirect'), Location: `${ORIGIN}/saml/slo` }],
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
app.get('/logout', (_req, res) => {
  const { nameId: logoutNameID = '', sessionIndex = '' } = user ?? {};
  res.redirect(sp.createLogoutRequest(idp, 'redirect', { logoutNameID, sessionIndex }, { relayState: '/' }).context);
});
/** What the signature is over: the parameters as they were sent, without the signature. */
const signed = ({ url }: Request): string => url.replace(/^[^?]*\?/, '').replace(/&Signature=[^&]*/, '');
app.get('/saml/slo', async (req, res) => {
  const message = { query: req.query, octetString: signed(req) };
  if (req.query.SAMLResponse !== undefined) {
    await sp.parseLogoutResponse(idp, 'redirect', message);
    user = undefined;
    res.redirect('/');
    return;
  }
  const asked = await sp.parseLogoutRequest(idp, 'redirect', message);
  user = undefined;
  res.redirect(sp.createLogoutResponse(idp, asked as never, 'redirect', String(req.query.RelayState ?? '')).context);
});
app.get('/saml/metadata', (_req, res) => {
  res.type('application/samlmetadata+xml').send(sp.getMetadata());
});
app.get('/', (_req, res) => {
  const { sessionIndex: _, ...shown } = user ?? {};
  res.json(user === undefined ? null : shown);
});
app.listen(Number(PORT), '127.0.0.1');
