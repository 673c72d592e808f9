import errOut from 'oidc-provider/lib/helpers/err_out.js';

/** An error in the form that oidc-provider answers. */
export interface AnsweredError extends Error {
  readonly status?: number | undefined;
  readonly statusCode?: number | undefined;
  /** Whether the message is for callers. */
  readonly expose?: boolean | undefined;
  readonly error?: string | undefined;
  readonly error_description?: string | undefined;
  readonly error_detail?: string | undefined;
  readonly scope?: string | undefined;
}

/** Returns the status and the body of an error, as shared/error_handler.js answers it. */
export const answerOf = (error: AnsweredError): { readonly status: number; readonly body: object } => ({
  status: error.statusCode || 500,
  body: errOut(error),
});
