import { fromBase64UrlEncoded, toBase64UrlEncoded } from "lib0/buffer";
import { decodeUtf8, encodeUtf8 } from "lib0/string";

/** The websocket subprotocol (RFC 6455 section 1.9) that a client offers beside its token, and that a relay selects. */
export const coppiceSubprotocol = "coppice.v1";

const tokenPrefix = "coppice.token.";

/**
 * The subprotocols to offer with a token: `coppice.v1`, and the token as base64url of its UTF-8 bytes. Browsers can send
 * no header of their own with a websocket; in the URL a token would end up in logs.
 */
export function tokenToSubprotocols(token: string): readonly [string, string] {
  return [coppiceSubprotocol, `${tokenPrefix}${toBase64UrlEncoded(encodeUtf8(token))}`];
}

/** The token among the offered subprotocols; undefined when there is none, or none that can be read. */
export function findToken(offered: Iterable<string>): string | undefined {
  for (const protocol of offered) {
    if (!protocol.startsWith(tokenPrefix)) continue;
    const encoded = protocol.slice(tokenPrefix.length);
    if (!/^[\w-]+$/.test(encoded) || encoded.length % 4 === 1) return undefined;
    try {
      return decodeUtf8(fromBase64UrlEncoded(encoded));
    } catch {
      // No UTF-8: nobody made it by the function above.
      return undefined;
    }
  }
  return undefined;
}

/**
 * Which of the offered subprotocols a relay selects: `coppice.v1`, else the first that holds no token, so that a token
 * is in no answer; undefined when nothing is left, and the client will then not go on.
 */
export function selectSubprotocol(offered: Iterable<string>): string | undefined {
  const protocols = [...offered];
  return protocols.includes(coppiceSubprotocol)
    ? coppiceSubprotocol
    : protocols.find((protocol) => !protocol.startsWith(tokenPrefix));
}
