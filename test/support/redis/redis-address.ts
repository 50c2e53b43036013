/** What a test needs to know of the server that it uses. */
export interface RedisAddress {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly username?: string;
  readonly password?: string;
}

/** What a URL says of its server. */
export function addressOf(url: string): RedisAddress {
  const { hostname, port, username, password } = new URL(url);
  return {
    url,
    host: hostname,
    port: Number(port || 6379),
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
  };
}
