/** Minimum and maximum of lifetimes in seconds, for the instance and for clients. */

export const DAY_SECONDS = 86_400;

export const lifetimeBounds = {
  accessToken: [1, DAY_SECONDS],
  idToken: [1, DAY_SECONDS],
  refreshTokenIdle: [1, 365 * DAY_SECONDS],
  refreshTokenAbsolute: [1, 365 * DAY_SECONDS],
  refreshTokenGrace: [0, 60],
  authenticationRequest: [10, 600],
} as const;
