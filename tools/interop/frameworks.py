"""Agents of frameworks whose calls go through the integrations of agentapprovalprotocol.

No model is asked: a scripted one wants one call of one tool, and then ends. The tool counts how
often it ran. Imported by client.py only when a story asks for it, since the frameworks are not
installed everywhere.
"""

from agentapprovalprotocol import AsyncGate

TOOL_CALL_ID = "call-1"


async def langgraph_story(client, act):
    from agentapprovalprotocol.langgraph import ApprovalMiddleware
    from langchain.agents import create_agent
    from langchain_core.language_models.chat_models import BaseChatModel
    from langchain_core.messages import AIMessage, ToolMessage
    from langchain_core.outputs import ChatGeneration, ChatResult
    from langchain_core.tools import StructuredTool

    class Scripted(BaseChatModel):
        @property
        def _llm_type(self):
            return "scripted"

        def bind_tools(self, tools, **_kwargs):
            return self

        def _generate(self, messages, stop=None, run_manager=None, **_kwargs):
            if isinstance(messages[-1], ToolMessage):
                message = AIMessage(content="done")
            else:
                wanted = {"name": act["tool"], "args": {"amount": 3}, "id": TOOL_CALL_ID}
                message = AIMessage(content="", tool_calls=[wanted])
            return ChatResult(generations=[ChatGeneration(message=message)])

    ran = []

    async def tool(amount: int) -> str:
        """Does it."""
        ran.append(amount)
        return f"did {amount}"

    gated = StructuredTool.from_function(coroutine=tool, name=act["tool"])
    # Each run of the graph is another call to this integration: its keys have the run in them.
    approvals = ApprovalMiddleware(async_gate=AsyncGate(client))
    agent = create_agent(Scripted(), tools=[gated], middleware=[approvals])
    state = await agent.ainvoke({"messages": [("user", "go")]})
    answers = [m.content for m in state["messages"] if isinstance(m, ToolMessage)]
    return {"ran": ran, "answers": answers}


async def pydantic_ai_story(client, act):
    from agentapprovalprotocol.pydantic_ai import ApprovalCapability
    from pydantic_ai import Agent, Tool
    from pydantic_ai.messages import (
        ModelResponse,
        RetryPromptPart,
        TextPart,
        ToolCallPart,
        ToolReturnPart,
    )
    from pydantic_ai.models.function import FunctionModel

    def answers_in(messages):
        parts = [part for message in messages for part in message.parts]
        kinds = (ToolReturnPart, RetryPromptPart)
        return [str(part.content) for part in parts if isinstance(part, kinds)]

    def script(messages, _info):
        if answers_in(messages):
            return ModelResponse(parts=[TextPart("done")])
        call = ToolCallPart(act["tool"], {"amount": 3}, tool_call_id=TOOL_CALL_ID)
        return ModelResponse(parts=[call])

    ran = []

    async def tool(amount: int) -> str:
        ran.append(amount)
        return f"did {amount}"

    approvals = ApprovalCapability(gate=AsyncGate(client))
    tools = [Tool(tool, name=act["tool"], description="Does it.")]
    agent = Agent(FunctionModel(script), tools=tools, capabilities=[approvals])
    answers = []
    for _ in range(act["times"]):
        result = await agent.run("go", conversation_id=act["key"])
        answers += answers_in(result.all_messages())
    return {"ran": ran, "answers": answers}
