/** An application by the documentation of Auth.js for Express. `/` answers the session. */
import { ExpressAuth, type ExpressAuthConfig, getSession } from '@auth/express';
import express from 'express';

const { ISSUER: issuer = '', CLIENT: clientId = '', PORT = '' } = process.env;

const config: ExpressAuthConfig = {
  secret: 'a secret of the application alone',
  trustHost: true,
  providers: [{ id: 'tenant-idp', name: 'Acme', type: 'oidc', issuer, clientId, clientSecret: `${clientId}-secret` }],
};
const app = express();
app.use(/^\/auth\/(.*)/, ExpressAuth(config));
app.get('/', async (req, res) => void res.json(await getSession(req, config)));
app.listen(Number(PORT), '127.0.0.1');
