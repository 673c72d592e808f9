/** Creates a file `.env` with new keys. Only the owner of the file can read it: node dist/examples/production/make-env.js [file] */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';

const secret = () => randomBytes(32).toString('base64url');

const text = `# Where the service is, and its stores. Also: HOST, PORT, PROCESSES, TRUST_PROXY (how many proxies are in front), REDIS_PREFIX, and
# REDIS_CLUSTER_URLS, with commas, instead of REDIS_URL
ISSUER=http://localhost:3000
REDIS_URL=redis://localhost:6379
MONGODB_URL=mongodb://localhost:27017/idp

# The application that people sign in to
WEB_REDIRECT_URI=http://localhost:3001/callback
WEB_SECRET=${secret()}

# The client that administers all tenants, by dist/examples/production/admin.js
ADMIN_SECRET=${secret()}

# The same on all nodes, and not in the stores or their backups: who has these keys is the identity provider
# To replace one, put the new one and a comma before it
IDP_KEY=${secret()}
COOKIE_KEY=${secret()}
# Never to be replaced: pairwise subject identifiers are made from it
SUBJECT_SALT=${secret()}
`;

const [file = '.env'] = process.argv.slice(2);
try {
  // Never replaces a file, because data that was encrypted under lost keys cannot be decrypted.
  writeFileSync(file, text, { mode: 0o600, flag: 'wx' });
  console.log(`${file} has new keys. Look through it, and give the same to all nodes.`);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
