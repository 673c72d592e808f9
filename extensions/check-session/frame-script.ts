export interface FrameScriptOptions {
  /** Name of the cookie that changes with the sign-in. */
  readonly cookie: string;
  /** Path of this origin that answers whether a `client_id` is known. */
  readonly clientPath: string;
}

/**
 * Returns the script of the frame, in ES5 for old browsers and HtmlUnit. The script implements SHA-256, because a page without TLS has no `crypto.subtle`.
 * The script looks up a client once per page. While the look-up fails, the session alone decides.
 * @see OpenID Connect Session Management 1.0 §3.2
 * @see FIPS 180-4 §6.2
 */
export const frameScript = ({ cookie, clientPath }: FrameScriptOptions): string => `(function () {
  'use strict';
  var COOKIE = ${literal(cookie)};
  var KNOWN = ${literal(clientPath)};
  var clients = Object.create(null);

  function browserState() {
    var pairs = document.cookie.split('; ');
    for (var i = 0; i < pairs.length; i += 1) {
      if (pairs[i].indexOf(COOKIE + '=') === 0) return pairs[i].slice(COOKIE.length + 1);
    }
    return '';
  }

  function isPrime(n) {
    for (var i = 2; i * i <= n; i += 1) if (n % i === 0) return false;
    return true;
  }

  function fraction(x) {
    return ((x - Math.floor(x)) * 4294967296) | 0;
  }

  var H = [];
  var K = [];
  for (var prime = 2; K.length < 64; prime += 1) {
    if (!isPrime(prime)) continue;
    if (H.length < 8) H.push(fraction(Math.pow(prime, 1 / 2)));
    K.push(fraction(Math.pow(prime, 1 / 3)));
  }

  function rotate(x, n) {
    return (x >>> n) | (x << (32 - n));
  }

  function sha256(text) {
    var bytes = unescape(encodeURIComponent(text));
    var length = bytes.length;
    var words = [];
    var i;
    for (i = 0; i < length; i += 1) words[i >> 2] |= bytes.charCodeAt(i) << (24 - (i % 4) * 8);
    words[length >> 2] |= 128 << (24 - (length % 4) * 8);
    var size = (((length + 8) >> 6) + 1) * 16;
    words[size - 1] = length * 8;
    var hash = H.slice();
    var w = [];
    for (var block = 0; block < size; block += 16) {
      var s = hash.slice();
      for (i = 0; i < 64; i += 1) {
        if (i < 16) w[i] = words[block + i] | 0;
        else {
          var a = w[i - 15];
          var b = w[i - 2];
          var s0 = rotate(a, 7) ^ rotate(a, 18) ^ (a >>> 3);
          var s1 = rotate(b, 17) ^ rotate(b, 19) ^ (b >>> 10);
          w[i] = (w[i - 16] + s0 + w[i - 7] + s1) | 0;
        }
        var e = s[4];
        var c = s[0];
        var t1 = (s[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & s[5]) ^ (~e & s[6])) + K[i] + w[i]) | 0;
        var t2 = ((rotate(c, 2) ^ rotate(c, 13) ^ rotate(c, 22)) + ((c & s[1]) ^ (c & s[2]) ^ (s[1] & s[2]))) | 0;
        s = [(t1 + t2) | 0, s[0], s[1], s[2], (s[3] + t1) | 0, s[4], s[5], s[6]];
      }
      for (i = 0; i < 8; i += 1) hash[i] = (hash[i] + s[i]) | 0;
    }
    return base64url(hash);
  }

  function base64url(hash) {
    var alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    var out = '';
    for (var bit = 0; bit < 256; bit += 6) {
      var value = 0;
      for (var i = 0; i < 6; i += 1) {
        var at = bit + i;
        var one = at < 256 ? (hash[at >> 5] >>> (31 - (at % 32))) & 1 : 0;
        value = value * 2 + one;
      }
      out += alphabet.charAt(value);
    }
    return out;
  }

  function isKnown(id, answer) {
    if (id in clients) return answer(clients[id]);
    var request = new XMLHttpRequest();
    request.open('GET', KNOWN + '?client_id=' + encodeURIComponent(id));
    request.onload = function () {
      if (request.status !== 200) return answer(true);
      clients[id] = JSON.parse(request.responseText).known;
      answer(clients[id]);
    };
    request.onerror = function () {
      answer(true);
    };
    request.send();
  }

  function hasNoStorage(answer) {
    if (typeof document.hasStorageAccess !== 'function') return answer(false);
    document.hasStorageAccess().then(
      function (has) {
        answer(!has);
      },
      function () {
        answer(false);
      }
    );
  }

  function check(message, origin, reply) {
    var parts = typeof message === 'string' && message.length < 2048 ? /^(.+) ([\\w-]+)\\.([\\w-]+)$/.exec(message) : null;
    if (!parts) return reply('error');
    isKnown(parts[1], function (known) {
      if (!known) return reply('error');
      var state = browserState();
      if (sha256(parts[1] + ' ' + origin + ' ' + state + ' ' + parts[3]) === parts[2] && state !== '') return reply('unchanged');
      hasNoStorage(function (none) {
        if (none) return reply('error');
        var now = browserState();
        reply(sha256(parts[1] + ' ' + origin + ' ' + now + ' ' + parts[3]) === parts[2] ? 'unchanged' : 'changed');
      });
    });
  }

  window.addEventListener('message', function (event) {
    var source = event.source;
    if (!source || source === window || event.origin === 'null') return;
    check(event.data, event.origin, function (answer) {
      source.postMessage(answer, event.origin);
    });
  });
})();`;

/** Returns a string literal for a script inside a page. */
const literal = (text: string): string => JSON.stringify(text).replace(/</g, '\\u003c');
