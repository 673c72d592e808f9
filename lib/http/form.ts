import bodyParser from 'koa-bodyparser';

/** Bytes of a form of ours; the OAuth endpoints take as many. */
const FORM_LIMIT = '56kb';

/** Reads a posted form. */
export const form = bodyParser({ enableTypes: ['form'], formLimit: FORM_LIMIT });
