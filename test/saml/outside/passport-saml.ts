/** Application by the README of @node-saml/passport-saml, for one browser. `/` answers the signed-in user. */
import { type Profile, Strategy, ValidateInResponseTo, type VerifyWithoutRequest } from '@node-saml/passport-saml';
import express from 'express';
import passport from 'passport';

const { IDP = '', ORIGIN = '', PORT = '', KEY = '', CERTIFICATE = '', SECURED } = process.env;
const metadata = await (await fetch(`${IDP}/metadata`)).text();

let user: Profile | undefined;
/** One browser is enough. */
const session: Record<string, unknown> = { regenerate: (done: () => void) => done(), save: (done: () => void) => done() };

const signOn: VerifyWithoutRequest = (profile, done) => done(null, profile as unknown as Record<string, unknown>);
const logout: VerifyWithoutRequest = (profile, done) => done(null, profile?.nameID === user?.nameID ? (user as never) : undefined);
const strategy = new Strategy(
  {
    callbackUrl: `${ORIGIN}/saml/acs`,
    entryPoint: `${IDP}/sso`,
    issuer: `${ORIGIN}/saml/metadata`,
    idpCert: /X509Certificate>([^<]+)</.exec(metadata)?.[1] ?? '',
    logoutUrl: `${IDP}/slo`,
    logoutCallbackUrl: `${ORIGIN}/saml/slo`,
    privateKey: KEY,
    publicCert: CERTIFICATE,
    signatureAlgorithm: 'sha256',
    validateInResponseTo: ValidateInResponseTo.ifPresent,
    ...(SECURED ? { decryptionPvk: KEY } : {}),
  },
  signOn,
  logout,
);
passport.use(strategy as never);
passport.serializeUser((profile, done) => {
  user = profile as Profile;
  done(null, 'user');
});
passport.deserializeUser((_id, done) => done(null, user as never));

const app = express();
app.use(express.urlencoded({ extended: false }), (req, _res, next) => {
  Object.assign(req, { session });
  next();
});
app.use(passport.session());
let relayState = '';
app.get('/login', passport.authenticate('saml'));
app.post('/saml/acs', passport.authenticate('saml'), (req, res) => {
  relayState = req.body.RelayState ?? '';
  res.redirect('/');
});
app.get('/logout', passport.authenticate('saml', { samlFallback: 'logout-request' } as object));
app.get('/saml/slo', passport.authenticate('saml', { samlFallback: 'logout-request' } as object), (req, res, next) => {
  // The identity provider answered a request of the application, which ends its own session now.
  req.logout((error) => (error ? next(error) : res.redirect('/')));
});
app.get('/saml/metadata', (_req, res) => {
  res.type('application/samlmetadata+xml').send(strategy.generateServiceProviderMetadata(SECURED ? CERTIFICATE : null, CERTIFICATE));
});
app.get('/', (req, res) => {
  const { nameID, attributes } = (req.user ?? {}) as Partial<Profile>;
  res.json(nameID === undefined ? null : { nameId: nameID, attributes, relayState });
});
app.listen(Number(PORT), '127.0.0.1');
