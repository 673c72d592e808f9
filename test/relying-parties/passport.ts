/** Program around the strategy of the page: Express, a session, and two routes. The callback answers the profile. */
import express from 'express';
import passport from 'passport';

const { BLOCK = '', PORT = '' } = process.env;
await import(BLOCK);

/** One browser is enough. */
const session: Record<string, unknown> = { regenerate: (done: () => void) => done(), save: (done: () => void) => done() };

const app = express();
app.use((req, _res, next) => {
  Object.assign(req, { session });
  next();
});
app.get('/login', passport.authenticate('openidconnect'));
app.get('/cb', passport.authenticate('openidconnect', { session: false }), (req, res) => void res.json(req.user));
app.listen(Number(PORT), '127.0.0.1');
