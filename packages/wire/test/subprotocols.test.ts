import { coppiceSubprotocol, findToken, selectSubprotocol, tokenToSubprotocols } from "@coppice/wire";
import fc from "fast-check";
import { expect, test } from "vitest";

test("[WI60] a token is offered in letters that a subprotocol may have, and comes back", () => {
  expect(tokenToSubprotocols("a.b~c/é")).toEqual(["coppice.v1", "coppice.token.YS5ifmMvw6k"]);
  fc.assert(
    fc.property(fc.string({ unit: "binary", minLength: 1 }), (token) => {
      const offered = tokenToSubprotocols(token);
      for (const protocol of offered) expect(protocol).toMatch(/^[\w.-]+$/);
      expect(findToken(offered)).toBe(token);
      expect(findToken([...offered].reverse())).toBe(token);
    }),
  );
});

test("[WI60] what is no token is none, and never throws", () => {
  for (const offered of [[], [coppiceSubprotocol], ["coppice.token."], ["coppice.token.a"], ["coppice.token.gICA"]])
    expect(findToken(offered)).toBeUndefined();
  fc.assert(
    fc.property(fc.string(), (text) => {
      const found = findToken([`coppice.token.${text}`]);
      expect(found === undefined || typeof found === "string").toBe(true);
    }),
  );
});

test("[WI60] a token is never selected", () => {
  const [, token] = tokenToSubprotocols("secret");
  expect(selectSubprotocol([token, coppiceSubprotocol])).toBe(coppiceSubprotocol);
  expect(selectSubprotocol([token, "other"])).toBe("other");
  expect(selectSubprotocol([token])).toBeUndefined();
  expect(selectSubprotocol([])).toBeUndefined();
});
