import bodyParser from 'koa-bodyparser';

/** Bytes of a form of ours; the OAuth endpoints take as many. */
const FORM_LIMIT = '56kb';

/** Reads a posted form. */
export const form = bodyParser({
  enableTypes: ['form'],
  formLimit: FORM_LIMIT,
  onerror(error) {
    // Decompression that fails has no status. @see RFC 9110 §8.4
    throw 'status' in error ? error : Object.assign(new Error('the body cannot be decoded'), { status: 400 });
  },
});
