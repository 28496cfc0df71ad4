/** Uses an invitation as its page does. */
export function useInvitation(url: string, token: string, login: string): Promise<Response> {
  return fetch(`${url}/review/v1/invitation/use`, {
    method: "POST",
    headers: { "content-type": "application/json", "sec-fetch-site": "same-origin" },
    body: JSON.stringify({ token, login, name: login, password: "seven grey herons wait" }),
  });
}
