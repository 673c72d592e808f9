import { AuthorizationResponseError, ResponseBodyError, WWWAuthenticateChallengeError } from 'openid-client';

export interface Problem {
  readonly error: string;
  readonly error_description?: string;
}

/** Returns the error of the identity provider; undefined for any other error. */
export function asProblem(error: unknown): Problem | undefined {
  if (error instanceof ResponseBodyError || error instanceof AuthorizationResponseError) {
    return { error: error.error, ...(error.error_description ? { error_description: error.error_description } : {}) };
  }
  if (error instanceof WWWAuthenticateChallengeError) {
    const { error: code, error_description: description } = error.cause[0]?.parameters ?? {};
    return { error: code ?? `HTTP ${error.status}`, ...(description ? { error_description: description } : {}) };
  }
  return undefined;
}
