"""The table of SCP's operations: the 16 of the API page."""

from exporter.simulator import scp_lists, scp_operations
from exporter.simulator import scp_models as models
from exporter.simulator.fleet import Region
from exporter.simulator.routes import AnyRoute, Nothing, Route

ROUTES: tuple[AnyRoute[Region], ...] = (
    Route(
        "list_gpu_nodes", "List GPU nodes", "GET", "/v1/gpu-nodes",
        scp_lists.NodeQuery, Nothing, 200, models.GpuNodeListResponse, scp_lists.list_nodes,
    ),
    Route(
        "list_images", "List GPU node images", "GET", "/v1/gpu-nodes/images",
        scp_lists.ImageQuery, Nothing, 200, models.GpuNodeImageListResponse, scp_lists.list_images,
    ),
    Route(
        "list_products", "List GPU node products", "GET", "/v1/gpu-nodes/products",
        scp_lists.ProductQuery, Nothing, 200, models.GpuNodeProductListResponse,
        scp_lists.list_products,
    ),
    Route(
        "show_gpu_node", "Show a GPU node", "GET", "/v1/gpu-nodes/{gpu_node_id}",
        Nothing, Nothing, 200, models.GpuNodeShowResponse, scp_lists.show_node,
    ),
    Route(
        "list_cluster_fabrics", "List cluster fabrics", "GET", "/v1/cluster-fabrics",
        scp_lists.FabricQuery, Nothing, 200, models.ClusterFabricListResponse,
        scp_lists.list_fabrics,
    ),
    Route(
        "list_node_pools", "List node pools", "GET", "/v1/cluster-fabrics/node-pools",
        scp_lists.PoolQuery, Nothing, 200, models.NodePoolListResponse, scp_lists.list_pools,
    ),
    Route(
        "show_cluster_fabric", "Show a cluster fabric", "GET",
        "/v1/cluster-fabrics/{cluster_fabric_id}",
        Nothing, Nothing, 200, models.ClusterFabricShowResponse, scp_lists.show_fabric,
    ),
    Route(
        "create_gpu_nodes", "Create GPU nodes", "POST", "/v1/gpu-nodes",
        Nothing, models.GpuNodeCreateRequest, 202, models.AsyncResponse,
        scp_operations.create_nodes,
    ),
    Route(
        "delete_gpu_nodes", "Terminate GPU nodes", "DELETE", "/v1/gpu-nodes",
        Nothing, models.GpuNodeTerminateRequest, 202, models.AsyncResponse,
        scp_operations.terminate_nodes,
    ),
    Route(
        "start_gpu_nodes", "Start GPU nodes", "POST", "/v1/gpu-nodes/start",
        Nothing, models.GpuNodeOperationRequest, 202, models.AsyncResponse,
        scp_operations.start_nodes,
    ),
    Route(
        "stop_gpu_nodes", "Stop GPU nodes", "POST", "/v1/gpu-nodes/stop",
        Nothing, models.GpuNodeOperationRequest, 202, models.AsyncResponse,
        scp_operations.stop_nodes,
    ),
    Route(
        "lock_gpu_node", "Lock a GPU node", "PUT", "/v1/gpu-nodes/{gpu_node_id}/lock",
        Nothing, Nothing, 200, models.GpuNodeActionResponse, scp_operations.lock_node,
    ),
    Route(
        "unlock_gpu_node", "Unlock a GPU node", "PUT", "/v1/gpu-nodes/{gpu_node_id}/unlock",
        Nothing, Nothing, 200, models.GpuNodeActionResponse, scp_operations.unlock_node,
    ),
    Route(
        "assign_public_nat_ip", "Assign a public NAT IP to a GPU node", "POST",
        "/v1/gpu-nodes/{gpu_node_id}/public-nat-ip",
        Nothing, models.GpuNodeAssignPublicNatIpRequest, 202, models.GpuNodeActionResponse,
        scp_operations.assign_nat,
    ),
    Route(
        "release_public_nat_ip", "Release the public NAT IP of a GPU node", "DELETE",
        "/v1/gpu-nodes/{gpu_node_id}/public-nat-ip",
        Nothing, Nothing, 202, models.GpuNodeActionResponse, scp_operations.release_nat,
    ),
    Route(
        "modify_cluster_fabric_members", "Move GPU nodes between cluster fabrics", "POST",
        "/v1/cluster-fabrics/modify-members",
        Nothing, models.ClusterFabricMemberModifyRequestBody, 202, models.AsyncResponse,
        scp_operations.modify_members,
    ),
)  # fmt: skip
