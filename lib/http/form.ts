import bodyParser from 'koa-bodyparser';

/** Bytes of a form of ours; the OAuth endpoints take as many. */
const FORM_LIMIT = '56kb';

/** Reads a posted form. */
export const form = bodyParser({
  enableTypes: ['form'],
  formLimit: FORM_LIMIT,
  onerror(error) {
    // What zlib cannot read is the sender's mistake, and has no status. @see RFC 9110 §8.4
    throw /^Z_/.test((error as NodeJS.ErrnoException).code ?? '')
      ? Object.assign(new Error('the body cannot be decoded'), { status: 400 })
      : error;
  },
});
