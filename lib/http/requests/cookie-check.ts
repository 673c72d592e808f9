/**
 * Detection of browsers that send no cookies, because cookies are blocked or cannot be stored. No sign-in and no form works in such a browser, so a page
 * states the reason.
 */
import type { Context } from 'koa';
import type { ProtocolPage, ShowPage } from '../../contract/pages/protocol-page.js';
import type { Logger } from '../../logger.js';
import { isFromElsewhere } from './csrf.js';
import { loggedPath, requestIdOf } from './request-id.js';

interface CookieCheckParts {
  /** Returns whether a request has any cookie of the service. */
  readonly sendsCookies: (ctx: Pick<Context, 'headers'>) => boolean;
  readonly issuer: string;
  readonly showPage: ShowPage;
  readonly logger: Logger;
}

export interface CookieCheck {
  /**
   * Returns whether a form of a page of the service came without any cookie. Forms that other sites post do not count, because such forms never have
   * cookies.
   */
  isFormWithout(ctx: Context): boolean;
  /** Returns whether a request has no cookie of the service. The first request of a browser has no cookie. */
  isWithout(ctx: Pick<Context, 'headers'>): boolean;
  /** Shows the page about missing cookies. */
  show(ctx: Context, more?: Omit<Extract<ProtocolPage, { readonly page: 'no-cookies' }>, 'page'>): Promise<void>;
}

export function createCookieCheck({ sendsCookies, issuer, showPage, logger }: CookieCheckParts): CookieCheck {
  const { origin, protocol } = new URL(issuer);
  let isToldOfHttp = false;

  /**
   * Logs once that a request seems to have come over http although the issuer is https. Browsers drop `Secure` cookies that come over http. @see RFC
   * 6265bis §5.7
   */
  function tellOfHttp(ctx: Context): void {
    const forwarded = ctx.get('x-forwarded-proto');
    const isHttp = ctx.get('origin').startsWith('http:') || (!isEncrypted(ctx) && !/\bhttps\b/i.test(forwarded));
    if (isToldOfHttp || protocol !== 'https:' || !isHttp) return;
    isToldOfHttp = true;
    logger.warn(
      { issuer, requestId: requestIdOf(ctx), path: loggedPath(ctx.path), forwardedProto: forwarded === '' ? undefined : forwarded },
      'a browser sent no cookies, and its request seems to have come over http, while the issuer is https. Browsers keep Secure cookies only over https. ' +
        'Serve the service over https, or have the proxy that ends TLS send X-Forwarded-Proto. This is logged once.',
    );
  }

  return {
    isWithout: (ctx) => !sendsCookies(ctx),
    isFormWithout: (ctx) => !isFromElsewhere(ctx, origin) && !sendsCookies(ctx),
    async show(ctx, more = {}) {
      tellOfHttp(ctx);
      ctx.status = ctx.method === 'POST' ? 403 : 400;
      await showPage(ctx, { page: 'no-cookies', ...more });
    },
  };
}

const isEncrypted = ({ req }: Context): boolean => (req.socket as { readonly encrypted?: boolean } | undefined)?.encrypted === true;
