/** An application by the README of passport-openidconnect. It prints nothing and answers `/` with the profile. */
import express from 'express';
import passport from 'passport';
import OpenIDConnectStrategy, { type Profile, type VerifyCallback } from 'passport-openidconnect';

const { ISSUER: issuer = '', CLIENT: clientID = '', PORT = '', OPTIONS = '{}' } = process.env;

/** One browser is enough. */
const session: Record<string, unknown> = { regenerate: (done: () => void) => done(), save: (done: () => void) => done() };

passport.use(
  new OpenIDConnectStrategy(
    {
      issuer,
      authorizationURL: `${issuer}/connect/authorize`,
      tokenURL: `${issuer}/connect/token`,
      userInfoURL: `${issuer}/connect/userinfo`,
      clientID,
      clientSecret: `${clientID}-secret`,
      callbackURL: `http://127.0.0.1:${PORT}/cb`,
      ...(JSON.parse(OPTIONS) as object),
    },
    (_issuer: string, profile: Profile, done: VerifyCallback) => done(null, profile),
  ),
);
const app = express();
app.use((req, _res, next) => {
  Object.assign(req, { session });
  next();
});
app.get('/login', passport.authenticate('openidconnect'));
app.get('/cb', passport.authenticate('openidconnect', { session: false }), (req, res) => void res.json(req.user));
app.listen(Number(PORT), '127.0.0.1');
