"""Runs scim2-tester against a SCIM server. Usage: check_server.py URL TOKEN.

Prints one line for each check that is not successful, and a summary. Exits with 1 after an error.
"""

import sys
from collections import Counter

from httpx2 import Client
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_tester import Status, check_server

url, token = sys.argv[1:]
http = Client(base_url=url, headers={"Authorization": f"Bearer {token}"})
results = check_server(SyncSCIMClient(http))
counts = Counter(result.status for result in results)
for result in results:
    if result.status is not Status.SUCCESS:
        name = f"{result.resource_type or ''} {result.title}".strip()
        print(f"{result.status.name}: {name}: {result.reason}")
print(", ".join(f"{count} {status.name.lower()}" for status, count in sorted(counts.items(), key=str)))
failed = {Status.ERROR, Status.CRITICAL} & set(counts)
sys.exit(1 if failed or counts[Status.SUCCESS] == 0 else 0)
