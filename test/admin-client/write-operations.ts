/** `npm run admin-client`: writes the types of the admin client from the operations of the service. */
import { writeFileSync } from 'node:fs';
import { startIdp } from '../support/service/idp.js';
import { type OpenApi, operationsSource } from './operations-source.js';

const { issuer, close } = await startIdp();
const document = await fetch(`${issuer}/idp/api/v1/openapi.json`);
writeFileSync('lib/admin-client/operations.ts', operationsSource((await document.json()) as OpenApi));
await close();
